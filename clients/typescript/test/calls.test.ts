/** How calls are sent, answered, refused, lost, and given up. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  BridgeError,
  LostError,
  METHODS,
  type MethodName,
  PairingError,
  RefusedError,
  TimeoutError,
} from "../../../bridge/reference/packages/client/src/index.js";
import { systemClock } from "../../../bridge/reference/packages/client/src/clock.js";
import { LIMITS } from "../../../bridge/reference/packages/client/src/protocol.js";
import { begun, connected, failure, settle } from "./fixture.js";

const HOST = { ns: "host" };

test("a call is a request, and its answer the result", async () => {
  const { fixture, bridge } = await connected();
  const listed = bridge.call("state/list", HOST);
  const { id, ...request } = fixture.socket.request;
  assert.deepEqual(request, {
    type: "request",
    service: "state",
    method: "list",
    params: HOST,
  });
  assert.equal(typeof id, "string");
  fixture.socket.answer({ entries: { a: 1 } });
  assert.deepEqual(await listed, { entries: { a: 1 } });
  void bridge.call("plugins/list");
  assert.deepEqual(fixture.socket.request["params"], {});
});

test("answers find their calls in any order", async () => {
  const { fixture, bridge } = await connected();
  const calls = ["a", "b", "c"].map((key) => bridge.call("state/get", { ns: "host", key }));
  const ids = fixture.socket.requests.map(({ id }) => id);
  assert.equal(new Set(ids).size, 3);
  for (const request of [...fixture.socket.requests].reverse()) {
    fixture.socket.answer({ value: request["params"] }, request);
  }
  const values = (await Promise.all(calls)).map(({ value }) => value);
  assert.deepEqual(values, ["a", "b", "c"].map((key) => ({ ns: "host", key })));
});

test("a refusal has the code and the message", async () => {
  const { fixture, bridge } = await connected();
  const refused = failure(bridge.call("state/list", HOST));
  fixture.socket.refuse("bad_request", "ns: 1 to 64 characters");
  const error = await refused;
  assert.ok(error instanceof RefusedError && error instanceof BridgeError);
  const { name, code, message, prefix, detail, retryAfter } = error;
  assert.deepEqual(
    [name, code, message, prefix, detail, retryAfter],
    ["RefusedError", "bad_request", "ns: 1 to 64 characters", "", message, undefined],
  );
});

test("a refusal that makes no sense is still one", async () => {
  for (const error of [undefined, null, "no", { code: 1, message: [], retryAfter: "x" }]) {
    const { fixture, bridge } = await connected();
    const refused = failure(bridge.call("state/set", { ...HOST, key: "a", value: 1 }));
    const { id } = fixture.socket.request;
    fixture.socket.receive({ type: "response", id, ok: false, error });
    const found = await refused;
    assert.ok(found instanceof RefusedError);
    assert.deepEqual([found.code, found.retryAfter], ["internal", undefined]);
  }
});

test("frames that make no sense are ignored", async () => {
  const { fixture, bridge } = await connected();
  const listed = bridge.call("state/list", HOST);
  const { id } = fixture.socket.request;
  for (const frame of ["", "{", "[]", "null", "1", '{"type":1}', '{"type":"response"}']) {
    fixture.socket.receiveText(frame);
  }
  fixture.socket.receiveText(new ArrayBuffer(8));
  fixture.socket.receive({ type: "response", id: Number(id), ok: true });
  fixture.socket.receive({ type: "response", id: "other", ok: true });
  fixture.socket.receive({ type: "welcome", version: "9" });
  assert.deepEqual([bridge.welcome?.version, bridge.welcome?.protocol], ["1.2.3", "1.0"]);
  fixture.socket.answer({ entries: {} });
  assert.deepEqual(await listed, { entries: {} });
});

test("nothing but a welcome is accepted before the welcome", async () => {
  const { fixture, bridge } = await begun();
  const pushed: unknown[] = [];
  bridge.on("build", (report) => pushed.push(report));
  fixture.socket.open();
  fixture.socket.push("build", {});
  assert.deepEqual(pushed, []);
  assert.equal(bridge.state, "connecting");
});

test("a connection lost in a call rejects it at once, and nothing is sent again", async () => {
  const { fixture, bridge } = await connected();
  const lost = failure(bridge.call("state/list", HOST));
  fixture.socket.drop(1001, "shutdown");
  const error = await lost;
  assert.ok(error instanceof LostError);
  assert.deepEqual([error.code, error.sent], ["lost", true]);
  assert.deepEqual(error.close, { code: 1001, reason: "shutdown" });
  await fixture.pass(1_000);
  fixture.socket.welcome();
  await fixture.pass(10_000);
  assert.deepEqual(fixture.socket.requests, []);
});

test("a call while down connects now, and is sent then", async () => {
  const { fixture, bridge } = await begun({ health: undefined });
  await fixture.pass(10_000);
  fixture.health = { ok: true };
  assert.equal(bridge.state, "absent");
  const listed = bridge.call("state/list", HOST);
  const params = { ...HOST, key: "a", value: 1 };
  const set = bridge.call("state/set", params);
  // What is changed after a call is not sent.
  params.value = 2;
  await settle();
  assert.equal(fixture.now(), 10_000);
  fixture.socket.welcome();
  assert.deepEqual(
    fixture.socket.requests.map(({ method }) => method),
    ["list", "set"],
  );
  const [first, second] = fixture.socket.requests;
  assert.deepEqual(second?.["params"], { ...HOST, key: "a", value: 1 });
  fixture.socket.answer({ entries: {} }, first);
  fixture.socket.answer({}, second);
  await Promise.all([listed, set]);
});

test("a call while down is given up after 4 s, and never sent", async () => {
  const { fixture, bridge } = await begun({ health: undefined });
  const lost = failure(bridge.call("state/list", HOST));
  await fixture.pass(3_999);
  fixture.frozen = true;
  await fixture.pass(1);
  const error = await lost;
  assert.ok(error instanceof LostError);
  assert.deepEqual([error.sent, error.close], [false, undefined]);
  fixture.frozen = false;
  fixture.health = { ok: true };
  await fixture.pass(60_000);
  fixture.socket.welcome();
  assert.deepEqual(fixture.socket.requests, []);
});

test("calls while down do not make the waits shorter", async () => {
  const { bridge } = await begun({ health: undefined });
  for (let call = 0; call < 5; call += 1) {
    void bridge.call("state/list", HOST).catch(() => undefined);
    await settle();
  }
  assert.deepEqual(bridge.details, { retryInMs: 30_000 });
});

test("a call that waits for a connection is rejected when the token is refused", async () => {
  const { fixture, bridge } = await begun();
  const refused = failure(bridge.call("state/list", HOST));
  fixture.socket.open();
  fixture.socket.drop(1008, "unauthorized");
  const error = await refused;
  assert.ok(error instanceof PairingError);
  assert.equal(error.reason, "refused");
});

test("an answer may take as long as the protocol says, and a late one is dropped", async () => {
  assert.equal(METHODS["plugins/install"].timeoutMs, 130_000);
  for (const [method, { timeoutMs }] of Object.entries(METHODS)) {
    const { fixture, bridge } = await connected();
    const timedOut = failure(bridge.call(method as MethodName, {} as never));
    const { request } = fixture.socket;
    let over = false;
    void timedOut.then(() => (over = true));
    await fixture.pass(timeoutMs - 1);
    assert.equal(over, false, method);
    await fixture.pass(1);
    const error = await timedOut;
    assert.ok(error instanceof TimeoutError);
    assert.deepEqual([error.code, error.sent], ["timeout", true]);
    fixture.socket.answer({}, request);
    assert.equal(bridge.state, "connected");
  }
});

test("the caller may set the deadline, from the call on", async () => {
  const { fixture, bridge } = await begun();
  const timedOut = failure(bridge.call("state/list", HOST, { timeoutMs: 5_000 }));
  await fixture.pass(3_000);
  fixture.socket.welcome();
  let over = false;
  void timedOut.then(() => (over = true));
  await fixture.pass(1_999);
  assert.equal(over, false);
  await fixture.pass(1);
  assert.ok((await timedOut) instanceof TimeoutError);
});

test("a deadline may be as far away as the caller likes", async () => {
  let over = 0;
  const ends = [3e9, Infinity].map((wait) => systemClock.later(wait, () => (over += 1)));
  await new Promise((resolve) => setTimeout(resolve, 20));
  ends.forEach((end) => end());
  assert.equal(over, 0);
  const { fixture, bridge } = await connected();
  // `Infinity`, copied as JSON.
  const answered = bridge.call("state/list", HOST, { timeoutMs: null as never });
  await fixture.pass(1_000);
  fixture.socket.answer({ entries: {} });
  assert.deepEqual(await answered, { entries: {} });
});

test("a deadline that passes before a call is sent is a timeout too", async () => {
  const { fixture, bridge } = await begun();
  const timedOut = failure(bridge.call("state/list", HOST, { timeoutMs: 10 }));
  await fixture.pass(10);
  const error = await timedOut;
  assert.ok(error instanceof TimeoutError);
  assert.equal(error.sent, false);
});

test("an abort rejects with its reason, and a call that waits is not sent", async () => {
  const { fixture, bridge } = await begun();
  const abort = new AbortController();
  const aborted = failure(bridge.call("state/list", HOST, { signal: abort.signal }));
  abort.abort();
  assert.equal((await aborted).name, "AbortError");
  const already = failure(bridge.call("state/list", HOST, { signal: abort.signal }));
  assert.equal((await already).name, "AbortError");
  fixture.socket.welcome();
  assert.deepEqual(fixture.socket.requests, []);
  const late = new AbortController();
  const sent = failure(bridge.call("state/list", HOST, { signal: late.signal }));
  late.abort();
  assert.ok((await sent) instanceof DOMException);
  fixture.socket.answer({ entries: {} });
  await fixture.pass(10_000);
  assert.equal(bridge.state, "connected");
});

test("a signal is listened to no longer than the call lasts", async () => {
  const { fixture, bridge } = await connected();
  const { signal } = new AbortController();
  let listening = 0;
  const counted = new Proxy(signal, {
    get(target, name) {
      if (name === "addEventListener") {
        return () => (listening += 1);
      }
      if (name === "removeEventListener") {
        return () => (listening -= 1);
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const listed = bridge.call("state/list", HOST, { signal: counted });
  assert.equal(listening, 1);
  fixture.socket.answer({ entries: {} });
  await listed;
  assert.equal(listening, 0);
});

test("rate_limited: a read is asked again once, after the time that it names", async () => {
  const { fixture, bridge } = await connected();
  const listed = failure(bridge.call("state/list", HOST));
  fixture.socket.refuse("rate_limited", "too many requests", { retryAfter: 2 });
  await fixture.pass(1_999);
  assert.equal(fixture.socket.requests.length, 1);
  await fixture.pass(1);
  const [first, second] = fixture.socket.requests;
  assert.deepEqual(second?.["params"], HOST);
  assert.notEqual(first?.["id"], second?.["id"]);
  fixture.socket.refuse("rate_limited", "too many requests", { retryAfter: 2 });
  const error = await listed;
  assert.ok(error instanceof RefusedError);
  assert.deepEqual([error.code, error.retryAfter], ["rate_limited", 2]);
});

test("rate_limited: a change, or a read whose deadline would pass, is not asked again", async () => {
  const { fixture, bridge } = await connected();
  for (const call of [
    () => bridge.call("state/set", { ...HOST, key: "a", value: 1 }),
    () => bridge.call("state/list", HOST, { timeoutMs: 1_000 }),
  ]) {
    const refused = failure(call());
    fixture.socket.refuse("rate_limited", "too many requests", { retryAfter: 1 });
    assert.ok((await refused) instanceof RefusedError);
  }
  await fixture.pass(5_000);
  assert.equal(fixture.socket.requests.length, 2);
});

test("rate_limited: a read waits for another connection too, and can be aborted", async () => {
  const { fixture, bridge } = await connected();
  const abort = new AbortController();
  const aborted = failure(bridge.call("state/list", HOST, { signal: abort.signal }));
  const listed = bridge.call("plugins/list");
  const [first, second] = fixture.socket.requests;
  for (const request of [first, second]) {
    const error = { code: "rate_limited", message: "too many", retryAfter: 2 };
    fixture.socket.receive({ type: "response", id: request?.["id"], ok: false, error });
  }
  abort.abort();
  assert.equal((await aborted).name, "AbortError");
  fixture.socket.drop();
  await fixture.pass(2_500);
  fixture.socket.welcome();
  assert.deepEqual(
    fixture.socket.requests.map(({ service }) => service),
    ["plugins"],
  );
  fixture.socket.answer({ plugins: [], broken: [] });
  assert.deepEqual(await listed, { plugins: [], broken: [] });
});

test("what JSON cannot hold, or a frame, is rejected without being sent", async () => {
  const { fixture, bridge } = await connected();
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const params = { ...HOST, key: "a" };
  assert.ok((await failure(bridge.call("state/set", { ...params, value: cycle }))) instanceof TypeError);
  const large = "€".repeat(2_800_000);
  const error = await failure(bridge.call("state/set", { ...params, value: large }));
  assert.ok(error instanceof RefusedError);
  assert.deepEqual([error.code, error.detail.slice(0, 7)], ["bad_request", "params:"]);
  assert.deepEqual(fixture.socket.requests, []);
  assert.equal(bridge.state, "connected");
});

test("attack: no frame is so long that the daemon closes the socket", async () => {
  const { fixture, bridge } = await connected();
  const set = (value: string) => bridge.call("state/set", { ...HOST, key: "a", value });
  const longest = LIMITS.frameBytes;
  const around = JSON.stringify({ ...HOST, key: "a", value: "" }).length;
  const error = await failure(set("x".repeat(longest - around)));
  assert.ok(error instanceof RefusedError);
  assert.equal(fixture.socket.requests.length, 0);
  void set("x".repeat(longest - around - 1_024));
  assert.ok(JSON.stringify(fixture.socket.request).length <= longest);
});
