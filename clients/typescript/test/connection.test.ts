/** How the client finds the daemon, pairs, and connects again. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  type Bridge,
  CLOSES,
  LostError,
  PairingError,
  createBridge,
} from "../../../bridge/reference/packages/client/src/index.js";
import { ENDPOINT, FakeSocket, Fixture, begun, connected, failure, settle } from "./fixture.js";

/** When attempts begin, while nothing answers, in order. */
async function attempts(fixture: Fixture, milliseconds: number): Promise<number[]> {
  fixture.probes.length = 0;
  const begun = fixture.now();
  await fixture.pass(milliseconds);
  return fixture.probes.map((at) => at - begun);
}

test("the states follow the probe, the hello and the welcome", async () => {
  const { fixture, bridge } = await begun();
  assert.deepEqual(fixture.states, ["detecting", "connecting"]);
  assert.equal(fixture.socket.url, "ws://127.0.0.1:42081/v1/ws");
  fixture.socket.open();
  assert.deepEqual(fixture.socket.sent, [{ type: "hello", token: "secret", client: "test/1.0.0" }]);
  fixture.socket.welcome({ protocol: "1.4" });
  assert.equal(bridge.state, "connected");
  assert.equal(bridge.welcome?.version, "1.2.3");
  assert.equal(bridge.welcome?.protocol, "1.4");
  assert.equal(bridge.supports("plugins/preview"), true);
  assert.equal(bridge.supports("plugins/none"), false);
});

test("any answer to the probe within 4 s is a daemon that runs, also 429", async () => {
  for (const [health, found] of [
    [undefined, "absent"],
    [{ ok: true }, "connecting"],
    [{ ok: false, error: { code: "rate_limited" } }, "connecting"],
  ] as const) {
    const { fixture, bridge } = await begun({ health });
    assert.equal(bridge.state, found);
    assert.equal(fixture.sockets.length, found === "absent" ? 0 : 1);
  }
  const { fixture, bridge } = await begun({ frozen: true });
  await fixture.pass(3_999);
  assert.equal(bridge.state, "detecting");
  await fixture.pass(1);
  assert.equal(bridge.state, "absent");
});

test("without a token no socket is opened, and nothing is retried", async () => {
  const { fixture, bridge } = await begun({}, { token: " " });
  await fixture.pass(120_000);
  assert.equal(bridge.state, "unpaired");
  assert.deepEqual(bridge.details, { reason: "missing" });
  assert.deepEqual([fixture.sockets.length, fixture.probes.length], [0, 1]);
  const error = await failure(bridge.call("plugins/list"));
  assert.ok(error instanceof PairingError);
  assert.equal(error.reason, "missing");
});

test("no welcome within 6 s is a failure", async () => {
  const { fixture, bridge } = await begun();
  fixture.socket.open();
  await fixture.pass(5_999);
  assert.equal(bridge.state, "connecting");
  await fixture.pass(1);
  assert.equal(bridge.state, "waiting");
  assert.equal(fixture.socket.closedByClient, true);
});

test("absent: it looks again after 1, 2, 5, 15, 30, 30 s", async () => {
  const { fixture, bridge } = await begun({ health: undefined });
  assert.deepEqual(bridge.details, { retryInMs: 1_000 });
  assert.deepEqual(await attempts(fixture, 90_000), [1_000, 3_000, 8_000, 23_000, 53_000, 83_000]);
});

test("the waits vary by a fifth", async () => {
  for (const [chance, wait] of [
    [0, 800],
    [1, 1_200],
  ] as const) {
    const { bridge } = await begun({ health: undefined, chance });
    assert.deepEqual(bridge.details, { retryInMs: wait });
  }
});

test("1001 shutdown, 1006 and a reason that is not the protocol's are waited out", async () => {
  for (const [code, reason] of [
    [1001, "shutdown"],
    [1006, ""],
    [1009, "frame_too_large"],
    [1001, "toString"],
    [1001, "__proto__"],
    [1001, "unauthorised"],
  ] as const) {
    const { fixture, bridge } = await connected();
    fixture.socket.drop(code, reason);
    assert.equal(bridge.state, "waiting");
    assert.deepEqual(bridge.details, { close: { code, reason }, retryInMs: 1_000 });
    await fixture.pass(1_000);
    fixture.socket.welcome();
    assert.equal(bridge.state, "connected");
    assert.equal(fixture.sockets.length, 2);
  }
});

test("after each close of the protocol it does what the protocol says", async () => {
  const states = { yes: "waiting", later: "waiting", once: "waiting", paired: "unpaired" };
  for (const [reason, retry] of Object.entries(CLOSES)) {
    const { fixture, bridge } = await connected();
    fixture.socket.drop(retry === "later" ? 1013 : 1000, reason);
    assert.equal(bridge.state, states[retry], reason);
    assert.equal((bridge.details.retryInMs ?? 0) >= 5_000, retry === "later", reason);
  }
});

test("the waits go on growing until a connection has lasted 10 s", async () => {
  const { fixture, bridge } = await connected();
  const waits: unknown[] = [];
  for (const lasts of [9_999, 9_999, 9_999, 10_000]) {
    await fixture.pass(lasts);
    fixture.socket.drop();
    const wait = bridge.details.retryInMs ?? 0;
    waits.push(wait);
    await fixture.pass(wait);
    fixture.socket.welcome();
  }
  assert.deepEqual(waits, [1_000, 2_000, 5_000, 1_000]);
});

test("a hello that came too late is said once more, and then not again", async () => {
  const { fixture, bridge } = await begun();
  fixture.socket.open();
  fixture.socket.drop(1008, "hello_required");
  assert.equal(bridge.state, "waiting");
  await fixture.pass(bridge.details.retryInMs ?? 0);
  fixture.socket.open();
  fixture.socket.drop(1008, "hello_required");
  assert.equal(bridge.state, "unpaired");
});

test("1008 is not retried before pair, moveTo or retry", async () => {
  for (const again of ["pair", "moveTo", "retry"] as const) {
    const { fixture, bridge } = await begun();
    fixture.socket.open();
    fixture.socket.drop(1008, "unauthorized");
    assert.equal(bridge.state, "unpaired");
    const close = { code: 1008, reason: "unauthorized" };
    assert.deepEqual(bridge.details, { reason: "refused", close });
    await fixture.pass(120_000);
    assert.deepEqual([fixture.sockets.length, fixture.probes.length], [1, 1]);
    if (again === "pair") {
      void bridge.pair(" other ");
    } else if (again === "moveTo") {
      bridge.moveTo("http://localhost:9000/", "other");
    } else {
      bridge.retry();
    }
    await settle();
    assert.equal(fixture.sockets.length, 2);
    fixture.socket.open();
    assert.equal(fixture.socket.sent[0]?.["token"], again === "retry" ? "secret" : "other");
  }
});

test("1001 token_rotated reads as rotated, and is not retried", async () => {
  const { fixture, bridge } = await connected();
  fixture.socket.drop(1001, "token_rotated");
  assert.equal(bridge.state, "unpaired");
  assert.equal(bridge.details.reason, "rotated");
  await fixture.pass(120_000);
  assert.equal(fixture.sockets.length, 1);
  assert.equal(bridge.details.reason, "rotated");
});

test("1013 is waited out for at least 5 s, even when a call is made", async () => {
  const { fixture, bridge } = await connected();
  fixture.socket.drop(1013, "slow_reader");
  assert.deepEqual(bridge.details.retryInMs, 5_000);
  await fixture.pass(2_000);
  const lost = failure(bridge.call("plugins/list"));
  await fixture.pass(2_999);
  assert.equal(fixture.sockets.length, 1);
  await fixture.pass(1);
  assert.equal(fixture.sockets.length, 2);
  await fixture.pass(1_000);
  assert.ok((await lost) instanceof LostError);
});

test("pair reports its outcome", async () => {
  const { fixture, bridge } = await begun({}, { token: "" });
  let paired = bridge.pair("right");
  await settle();
  fixture.socket.welcome();
  assert.equal((await paired).version, "1.2.3");
  paired = bridge.pair("wrong");
  await settle();
  fixture.socket.open();
  fixture.socket.drop(1008, "unauthorized");
  const refused = await failure(paired);
  assert.ok(refused instanceof PairingError);
  assert.deepEqual([refused.code, refused.reason], ["pairing", "refused"]);
  fixture.health = undefined;
  const lost = await failure(bridge.pair("right"));
  assert.ok(lost instanceof LostError);
  assert.equal(lost.sent, false);
  // This one is not awaited, and must not be reported as unhandled.
  void bridge.pair("right");
  await settle();
});

test("pair rejects when another attempt takes its place", async () => {
  const overtakes: readonly ((bridge: Bridge) => unknown)[] = [
    (bridge) => bridge.pair("right"),
    (bridge) => bridge.moveTo("http://localhost:9000", "right"),
  ];
  for (const overtake of overtakes) {
    const { fixture, bridge } = await begun({}, { token: "" });
    const overtaken = failure(bridge.pair("wrong"));
    const paired = overtake(bridge);
    await settle();
    fixture.socket.welcome();
    assert.ok((await overtaken) instanceof LostError);
    assert.equal(bridge.state, "connected");
    await paired;
  }
});

test("attack: another endpoint does not get the token", async () => {
  const { fixture, bridge } = await connected();
  const old = fixture.socket;
  bridge.moveTo("http://127.0.0.1:6666");
  await settle();
  assert.equal(old.closedByClient, true);
  assert.equal(bridge.endpoint, "http://127.0.0.1:6666");
  assert.equal(bridge.state, "unpaired");
  assert.equal(fixture.sockets.length, 1);
});

test("attack: another endpoint does not get what waits to be sent", async () => {
  const { fixture, bridge } = await connected();
  fixture.socket.drop();
  const waiting = failure(bridge.call("state/set", { ns: "host", key: "a", value: "secret" }));
  bridge.log("info", "host", "secret");
  bridge.moveTo("http://localhost:9000", "other");
  const lost = await waiting;
  assert.ok(lost instanceof LostError && !lost.sent);
  await settle();
  fixture.socket.welcome();
  await fixture.pass(1_000);
  assert.equal(JSON.stringify(fixture.socket.sent).includes("secret"), false);
});

test("an endpoint is a scheme, a host and a port", () => {
  const fetch = (): Promise<Response> => new Promise(() => undefined);
  const options = { client: "test/1.0.0", WebSocket: FakeSocket, fetch };
  const bridge = createBridge({ ...options, endpoint: `${ENDPOINT}/` });
  assert.equal(bridge.endpoint, ENDPOINT);
  bridge.close();
  for (const endpoint of ["", "42081", "ws://127.0.0.1", `${ENDPOINT}/v1`, `${ENDPOINT}/?a`]) {
    assert.throws(() => createBridge({ ...options, endpoint }), TypeError);
  }
});

test("without a WebSocket class there is no client", () => {
  const had = Object.getOwnPropertyDescriptor(globalThis, "WebSocket");
  Object.defineProperty(globalThis, "WebSocket", { value: undefined, configurable: true });
  try {
    const options = { endpoint: ENDPOINT, client: "test/1.0.0" };
    assert.throws(() => createBridge(options), /^TypeError: WebSocket: required/);
  } finally {
    Object.defineProperty(globalThis, "WebSocket", had ?? { configurable: true });
  }
});

test("a WebSocket that cannot be made is a failure", async () => {
  const fixture = new Fixture();
  class WebSocket extends FakeSocket {
    constructor(url: string) {
      super(url);
      throw new Error("refused by a policy");
    }
  }
  const bridge = await fixture.bridge({ WebSocket });
  assert.equal(bridge.state, "waiting");
});

test("a retry leaves a working connection alone", async () => {
  const { fixture, bridge } = await connected();
  bridge.retry();
  await settle();
  assert.deepEqual([bridge.state, fixture.sockets.length], ["connected", 1]);
  assert.equal(fixture.probes.length, 2);
});

test("a slow probe of an old endpoint changes nothing", async () => {
  const { fixture, bridge } = await begun({ frozen: true });
  fixture.frozen = false;
  bridge.moveTo("http://localhost:9000", "secret");
  await settle();
  fixture.socket.welcome();
  await fixture.pass(4_000);
  assert.equal(bridge.state, "connected");
});

test("a socket that was given up changes nothing", async () => {
  const { fixture, bridge } = await connected();
  const old = fixture.socket;
  void bridge.pair("other");
  await settle();
  fixture.socket.welcome();
  old.push("build", {});
  old.drop(1008, "unauthorized");
  assert.equal(bridge.state, "connected");
});

test("close ends everything, until a retry", async () => {
  const { fixture, bridge } = await connected();
  const held = failure(bridge.call("plugins/list"));
  fixture.socket.refuse("rate_limited", "too many requests", { retryAfter: 2 });
  const [sent, late] = [bridge.call("plugins/list"), fixture.socket];
  bridge.close();
  assert.ok((await held) instanceof LostError);
  assert.ok((await failure(sent)) instanceof LostError);
  assert.equal(late.closedByClient, true);
  const after = await failure(bridge.call("plugins/list"));
  assert.ok(after instanceof LostError);
  assert.equal(after.sent, false);
  await fixture.pass(120_000);
  assert.equal(bridge.state, "stopped");
  assert.deepEqual([fixture.sockets.length, fixture.timers, fixture.listening], [1, 0, 0]);
  bridge.retry();
  await settle();
  assert.equal(bridge.state, "connecting");
});

test("a listener that closes the client leaves nothing behind", async () => {
  for (const state of ["connecting", "connected", "waiting", "absent", "unpaired"]) {
    const { fixture, bridge } = await connected();
    bridge.on("state", (now) => {
      if (now === state) {
        bridge.close();
      }
    });
    fixture.socket.drop(state === "unpaired" ? 1008 : 1006);
    await fixture.pass(1_000);
    if (bridge.state !== "stopped") {
      fixture.health = state === "absent" ? undefined : fixture.health;
      fixture.socket.welcome();
      fixture.socket.drop();
      await fixture.pass(10_000);
    }
    assert.equal(bridge.state, "stopped", state);
    await fixture.pass(60_000);
    assert.deepEqual([fixture.timers, fixture.listening], [0, 0], state);
  }
});
