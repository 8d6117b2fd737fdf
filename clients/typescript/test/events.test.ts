/** How events reach their listeners, and snippets the page. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { connected, settle } from "./fixture.js";

test("an event of any connection reaches its listeners, until they are removed", async () => {
  const { fixture, bridge } = await connected();
  const got: unknown[] = [];
  const keep = (report: unknown): unknown => got.push(report);
  bridge.on("build", () => off());
  const off = bridge.on("build", keep);
  // It is another one, which stays.
  bridge.on("build", keep);
  fixture.socket.push("build", { ok: true });
  off();
  fixture.socket.drop();
  await fixture.pass(1_000);
  fixture.socket.welcome();
  fixture.socket.push("build", { ok: false });
  fixture.socket.push("plugins", {});
  assert.deepEqual(got, [{ ok: true }, { ok: false }]);
});

test("a state that a listener causes comes after the one it was called for", async () => {
  const { fixture, bridge } = await connected();
  const got: unknown[] = [];
  bridge.on("state", (state) => state === "waiting" && bridge.close());
  bridge.on("state", (state) => got.push(state));
  fixture.socket.drop();
  assert.deepEqual(got, ["waiting", "stopped"]);
  assert.equal(bridge.state, "stopped");
});

test("an event of a newer daemon is unknown, whatever it is called", async () => {
  const { fixture, bridge } = await connected();
  const got: unknown[] = [];
  const states: unknown[] = [];
  bridge.on("unknown", (event, data) => got.push([event, data]));
  bridge.on("state", (state) => states.push(state));
  for (const event of ["newer", "state", "unknown", "toString", "__proto__"]) {
    fixture.socket.push(event, { event });
  }
  fixture.socket.push("build", {});
  assert.deepEqual(
    got,
    ["newer", "state", "unknown", "toString", "__proto__"].map((event) => [event, { event }]),
  );
  assert.deepEqual(states, []);
});

test("a listener that throws is reported, and keeps nothing from going on", async () => {
  const { fixture, bridge } = await connected();
  const uncaught: unknown[] = [];
  const before = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => uncaught.push(error.message));
  try {
    const got: unknown[] = [];
    const fail = (): never => {
      throw new Error("defect of a listener");
    };
    bridge.on("build", fail);
    bridge.on("build", () => got.push("build"));
    fixture.socket.push("build", {});
    assert.deepEqual(got, ["build"]);
    const params = { url: "https://example.org/bio", ref: "kept" };
    const joined = bridge.operate("plugins/install", params, { onProgress: fail });
    for (const outcome of [null, null, "done"]) {
      await fixture.pass(2_000);
      const entry = { op: "install", ref: "kept", step: "clone", outcome, result: 1 };
      fixture.socket.answer({ operations: [entry] });
    }
    assert.equal(await joined, 1);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(uncaught, Array(2).fill("defect of a listener"));
    bridge.on("state", () => bridge.close());
    fixture.socket.drop();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(new Set(uncaught.slice(2)), new Set(["events without end"]));
  } finally {
    process.removeAllListeners("uncaughtException");
    before.forEach((listener) => process.on("uncaughtException", listener));
  }
});

const ID = "A".repeat(22);

async function answered(evaluate: (code: string) => unknown): Promise<unknown> {
  const { fixture, bridge } = await connected();
  bridge.onRemote(evaluate);
  fixture.socket.push("remote", { id: ID, code: "return 1" });
  await settle();
  const { service, method, params } = fixture.socket.request;
  assert.deepEqual([service, method], ["remote", "result"]);
  return params;
}

test("a snippet's value is awaited, and becomes JSON that fits into a frame", async () => {
  const echo = (code: string): Promise<string> => Promise.resolve(code);
  assert.deepEqual(await answered(echo), { id: ID, ok: true, value: "return 1" });
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  for (const [value, sent] of [
    [undefined, null],
    [() => 1, "() => 1"],
    [12n, "12"],
    [{ id: 12n, error: new TypeError("no") }, { id: "12", error: "TypeError: no" }],
    [cycle, "[object Object]"],
    [Object.create(null), {}],
    ["\ud83d", "\ufffd"],
  ] as const) {
    assert.deepEqual(await answered(() => value), { id: ID, ok: true, value: sent });
  }
  const { value } = (await answered(() => "x".repeat(600_000))) as {
    value: { truncated: boolean; chars: number; head: string };
  };
  assert.deepEqual([value.truncated, value.chars, value.head.length], [true, 600_002, 524_288]);
});

test("what a snippet throws is the answer", async () => {
  for (const [thrown, error] of [
    [new TypeError("no such thing"), "TypeError: no such thing"],
    ["text", "text"],
    [{ toString: () => { throw new Error(); } }, "[object Object]"],
  ] as const) {
    const evaluate = (): never => {
      throw thrown;
    };
    assert.deepEqual(await answered(evaluate), { id: ID, ok: false, error });
  }
});

test("without a function, or an id, a snippet is not answered", async () => {
  const { fixture, bridge } = await connected();
  fixture.socket.push("remote", { id: ID, code: "return 1" });
  const off = bridge.onRemote(() => 1);
  fixture.socket.push("remote", { id: 7, code: "return 1" });
  fixture.socket.push("remote", { id: "../../etc", code: "return 1" });
  fixture.socket.push("remote", null);
  off();
  fixture.socket.push("remote", { id: ID, code: "return 1" });
  await settle();
  assert.deepEqual(fixture.socket.requests, []);
});

test("an answer that is lost is no error", async () => {
  const { fixture, bridge } = await connected();
  bridge.onRemote(() => 1);
  fixture.socket.push("remote", { id: ID, code: "return 1" });
  await settle();
  fixture.socket.drop();
  // An unhandled rejection would fail the test.
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(bridge.state, "waiting");
});
