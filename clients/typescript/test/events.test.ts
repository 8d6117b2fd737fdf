/** How events reach their listeners, and snippets the page. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { connected, settle } from "./world.js";

test("an event reaches its listeners, until they are removed", async () => {
  const { world, bridge } = await connected();
  const got: unknown[] = [];
  const off = bridge.on("build", (report) => got.push(["one", report]));
  bridge.on("build", (report) => got.push(["two", report]));
  world.socket.push("build", { ok: true });
  off();
  off();
  world.socket.push("build", { ok: false });
  world.socket.push("plugins", {});
  assert.deepEqual(got, [
    ["one", { ok: true }],
    ["two", { ok: true }],
    ["two", { ok: false }],
  ]);
});

test("listeners outlive a connection", async () => {
  const { world, bridge } = await connected();
  const got: unknown[] = [];
  bridge.on("plugins", (data) => got.push(data));
  world.socket.drop();
  await world.pass(1_000);
  world.socket.welcome();
  world.socket.push("plugins", { plugins: [] });
  assert.deepEqual(got, [{ plugins: [] }]);
});

test("an event of a newer daemon is unknown, whatever it is called", async () => {
  const { world, bridge } = await connected();
  const got: unknown[] = [];
  const states: unknown[] = [];
  bridge.on("unknown", (event, data) => got.push([event, data]));
  bridge.on("state", (state) => states.push(state));
  for (const event of ["newer", "state", "unknown", "toString", "__proto__"]) {
    world.socket.push(event, { event });
  }
  world.socket.push("build", {});
  assert.deepEqual(
    got,
    ["newer", "state", "unknown", "toString", "__proto__"].map((event) => [event, { event }]),
  );
  assert.deepEqual(states, []);
});

test("a listener that throws is reported, and keeps nothing from going on", async () => {
  const { world, bridge } = await connected();
  const uncaught: unknown[] = [];
  const before = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => uncaught.push(error.message));
  try {
    const got: unknown[] = [];
    bridge.on("build", () => {
      throw new Error("defect of a listener");
    });
    bridge.on("build", () => got.push("build"));
    world.socket.push("build", {});
    assert.deepEqual(got, ["build"]);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(uncaught, ["defect of a listener"]);
  } finally {
    process.removeAllListeners("uncaughtException");
    before.forEach((listener) => process.on("uncaughtException", listener));
  }
});

const ID = "A".repeat(22);

async function answered(evaluate: (code: string) => unknown): Promise<unknown> {
  const { world, bridge } = await connected();
  bridge.onRemote(evaluate);
  world.socket.push("remote", { id: ID, code: "return 1" });
  await settle();
  const { service, method, params } = world.socket.request;
  assert.deepEqual([service, method], ["remote", "result"]);
  return params;
}

test("a snippet is evaluated, and its value sent", async () => {
  const codes: string[] = [];
  const evaluate = (code: string): Promise<number> => {
    codes.push(code);
    return Promise.resolve(codes.length);
  };
  assert.deepEqual(await answered(evaluate), { id: ID, ok: true, value: 1 });
  assert.deepEqual(codes, ["return 1"]);
});

test("any value becomes JSON that fits into a frame", async () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  for (const [value, sent] of [
    [undefined, null],
    [() => 1, "() => 1"],
    [12n, "12"],
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

test("a value that the daemon refuses is followed by the reason", async () => {
  const { world, bridge } = await connected();
  bridge.onRemote(() => [[[]]]);
  world.socket.push("remote", { id: ID, code: "return 1" });
  await settle();
  world.socket.refuse("bad_request", "not JSON: too deep");
  await settle();
  assert.deepEqual(world.socket.request["params"], {
    id: ID,
    ok: false,
    error: "the daemon does not accept this value: not JSON: too deep",
  });
});

test("without a function, or an id, a snippet is not answered", async () => {
  const { world, bridge } = await connected();
  world.socket.push("remote", { id: ID, code: "return 1" });
  const off = bridge.onRemote(() => 1);
  world.socket.push("remote", { id: 7, code: "return 1" });
  world.socket.push("remote", { id: "../../etc", code: "return 1" });
  world.socket.push("remote", null);
  off();
  world.socket.push("remote", { id: ID, code: "return 1" });
  await settle();
  assert.deepEqual(world.socket.requests, []);
});

test("an answer that is lost is no error", async () => {
  const { world, bridge } = await connected();
  bridge.onRemote(() => 1);
  world.socket.push("remote", { id: ID, code: "return 1" });
  await settle();
  world.socket.drop();
  // An unhandled rejection would fail the test.
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(bridge.state, "waiting");
});
