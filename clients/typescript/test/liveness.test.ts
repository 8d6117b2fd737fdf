/** How the client notices a daemon that does not answer, and what a hidden page does. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Bridge } from "../../../bridge/reference/packages/client/src/index.js";
import { Fixture, connected, failure, settle } from "./fixture.js";

/** A client that is connected to a daemon which then stops answering. */
async function frozen(): Promise<[Fixture, Bridge]> {
  const { fixture, bridge } = await connected();
  fixture.frozen = true;
  fixture.probes.length = 0;
  return [fixture, bridge];
}

test("a probe that is answered changes nothing, and the next comes 20 s later", async () => {
  const { fixture, bridge } = await connected();
  fixture.probes.length = 0;
  await fixture.pass(65_000);
  assert.deepEqual(fixture.probes, [20_000, 40_000, 60_000]);
  assert.deepEqual(fixture.states, ["detecting", "connecting", "connected"]);
  assert.equal(bridge.state, "connected");
});

test("a message counts as a sign of life", async () => {
  const [fixture, bridge] = await frozen();
  for (let round = 0; round < 5; round += 1) {
    await fixture.pass(15_000);
    fixture.socket.push("build", {});
  }
  assert.deepEqual(fixture.probes, []);
  await fixture.pass(19_999);
  assert.deepEqual(fixture.probes, []);
  await fixture.pass(1);
  assert.equal(fixture.probes.length, 1);
  assert.equal(bridge.state, "connected");
  // Also one during a probe that fails, and one while it is stalled.
  fixture.socket.push("build", {});
  await fixture.pass(4_000);
  assert.equal(bridge.state, "connected");
  await fixture.pass(20_000);
  assert.equal(bridge.state, "stalled");
  fixture.socket.push("build", {});
  assert.equal(bridge.state, "connected");
});

test("a call that times out is followed by a probe at once", async () => {
  const [fixture, bridge] = await frozen();
  void failure(bridge.call("plugins/list"));
  await fixture.pass(4_000);
  assert.deepEqual(fixture.probes, [4_000]);
  await fixture.pass(4_000);
  assert.equal(bridge.state, "stalled");
});

test("a daemon that does not answer a probe is stalled, and probed until it answers", async () => {
  const [fixture, bridge] = await frozen();
  await fixture.pass(23_999);
  assert.deepEqual(fixture.probes, [20_000]);
  assert.equal(bridge.state, "connected");
  await fixture.pass(1);
  assert.equal(bridge.state, "stalled");
  fixture.probes.length = 0;
  await fixture.pass(18_000);
  assert.deepEqual(fixture.probes, [29_000, 38_000]);
  fixture.frozen = false;
  await fixture.pass(5_000);
  assert.equal(bridge.state, "connected");
  assert.equal(fixture.sockets.length, 1);
  fixture.probes.length = 0;
  await fixture.pass(19_999);
  assert.deepEqual(fixture.probes, []);
});

test("calls are still sent while stalled, and a loss is noticed", async () => {
  const [fixture, bridge] = await frozen();
  await fixture.pass(24_000);
  const lost = failure(bridge.call("plugins/list"));
  assert.equal(fixture.socket.requests.length, 1);
  fixture.socket.drop();
  assert.equal((await lost).name, "LostError");
  assert.equal(bridge.state, "waiting");
});

test("a probe of an earlier connection does not stall the next", async () => {
  const [fixture, bridge] = await frozen();
  await fixture.pass(20_000);
  fixture.socket.drop();
  fixture.frozen = false;
  await fixture.pass(1_000);
  fixture.socket.welcome();
  await fixture.pass(4_000);
  assert.equal(bridge.state, "connected");
  await fixture.pass(60_000);
  assert.equal(bridge.state, "connected");
});

test("a hidden page does not probe, and makes up for it when it is shown", async () => {
  const [fixture, bridge] = await frozen();
  fixture.hidden = true;
  await fixture.pass(5_000);
  // There is nothing to make up for yet.
  fixture.hidden = false;
  assert.deepEqual(fixture.probes, []);
  fixture.hidden = true;
  void failure(bridge.call("plugins/list"));
  await fixture.pass(300_000);
  assert.deepEqual(fixture.probes, []);
  assert.equal(bridge.state, "connected");
  fixture.hidden = false;
  assert.deepEqual(fixture.probes, [305_000]);
  await fixture.pass(4_000);
  assert.equal(bridge.state, "stalled");
  fixture.probes.length = 0;
  fixture.hidden = true;
  await fixture.pass(60_000);
  assert.deepEqual(fixture.probes, []);
  // It connects again all the same.
  fixture.frozen = false;
  fixture.socket.drop();
  await fixture.pass(1_000);
  fixture.socket.welcome();
  assert.equal(bridge.state, "connected");
});

test("after a sleep, messages are read before deadlines count", async () => {
  const { fixture, bridge } = await connected();
  const listed = bridge.call("plugins/list");
  const { request } = fixture.socket;
  fixture.sleep(3_600_000);
  // The timer runs first, and then the message that came while the page slept.
  await fixture.pass(0);
  fixture.socket.answer({ plugins: [], broken: [] }, request);
  assert.deepEqual(await listed, { plugins: [], broken: [] });
  await settle();
  assert.equal(bridge.state, "connected");
});

test("after a sleep, a call without an answer times out", async () => {
  const { fixture, bridge } = await connected();
  const timedOut = failure(bridge.call("plugins/list"));
  fixture.sleep(3_600_000);
  await fixture.pass(250);
  assert.equal((await timedOut).name, "TimeoutError");
});
