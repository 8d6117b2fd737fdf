/** How the client notices a daemon that does not answer, and what a hidden page does. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Bridge } from "../../../bridge/reference/packages/client/src/index.js";
import { World, connected, failure, settle } from "./world.js";

/** A client that is connected to a daemon which then stops answering. */
async function frozen(): Promise<[World, Bridge]> {
  const { world, bridge } = await connected();
  world.frozen = true;
  world.probes.length = 0;
  return [world, bridge];
}

test("20 s of silence are followed by a probe, and one without an answer by stalled", async () => {
  const [world, bridge] = await frozen();
  await world.pass(19_999);
  assert.deepEqual(world.probes, []);
  await world.pass(1);
  assert.deepEqual(world.probes, [20_000]);
  await world.pass(3_999);
  assert.equal(bridge.state, "connected");
  await world.pass(1);
  assert.equal(bridge.state, "stalled");
});

test("a probe that is answered changes nothing, and the next comes 20 s later", async () => {
  const { world, bridge } = await connected();
  world.probes.length = 0;
  await world.pass(65_000);
  assert.deepEqual(world.probes, [20_000, 40_000, 60_000]);
  assert.deepEqual(world.states, ["detecting", "connecting", "connected"]);
  assert.equal(bridge.state, "connected");
});

test("a message counts as a sign of life", async () => {
  const [world, bridge] = await frozen();
  for (let round = 0; round < 5; round += 1) {
    await world.pass(15_000);
    world.socket.push("build", {});
  }
  assert.deepEqual(world.probes, []);
  await world.pass(19_999);
  assert.deepEqual(world.probes, []);
  await world.pass(1);
  assert.equal(world.probes.length, 1);
  assert.equal(bridge.state, "connected");
});

test("a call that times out is followed by a probe at once", async () => {
  const [world, bridge] = await frozen();
  void failure(bridge.call("plugins/list"));
  await world.pass(4_000);
  assert.deepEqual(world.probes, [4_000]);
  await world.pass(4_000);
  assert.equal(bridge.state, "stalled");
});

test("a stalled daemon is probed every 5 s until it answers", async () => {
  const [world, bridge] = await frozen();
  await world.pass(24_000);
  assert.equal(bridge.state, "stalled");
  world.probes.length = 0;
  await world.pass(18_000);
  assert.deepEqual(world.probes, [29_000, 38_000]);
  world.frozen = false;
  await world.pass(5_000);
  assert.equal(bridge.state, "connected");
  assert.equal(world.sockets.length, 1);
  world.probes.length = 0;
  await world.pass(19_999);
  assert.deepEqual(world.probes, []);
});

test("a stalled daemon that sends a message is connected again", async () => {
  const [world, bridge] = await frozen();
  await world.pass(24_000);
  world.socket.push("build", {});
  assert.equal(bridge.state, "connected");
});

test("a message during a probe counts, though the probe fails", async () => {
  const [world, bridge] = await frozen();
  await world.pass(21_000);
  world.socket.push("build", {});
  await world.pass(4_000);
  assert.equal(bridge.state, "connected");
});

test("calls are still sent while stalled, and a loss is noticed", async () => {
  const [world, bridge] = await frozen();
  await world.pass(24_000);
  const lost = failure(bridge.call("plugins/list"));
  assert.equal(world.socket.requests.length, 1);
  world.socket.drop();
  assert.equal((await lost).name, "LostError");
  assert.equal(bridge.state, "waiting");
});

test("a probe of an earlier connection does not stall the next", async () => {
  const [world, bridge] = await frozen();
  await world.pass(20_000);
  world.socket.drop();
  world.frozen = false;
  await world.pass(1_000);
  world.socket.welcome();
  await world.pass(4_000);
  assert.equal(bridge.state, "connected");
  await world.pass(60_000);
  assert.equal(bridge.state, "connected");
});

test("a hidden page does not probe, and makes up for it when it is shown", async () => {
  const [world, bridge] = await frozen();
  world.hidden = true;
  void failure(bridge.call("plugins/list"));
  await world.pass(300_000);
  assert.deepEqual(world.probes, []);
  assert.equal(bridge.state, "connected");
  world.hidden = false;
  assert.deepEqual(world.probes, [300_000]);
  await world.pass(4_000);
  assert.equal(bridge.state, "stalled");
  world.probes.length = 0;
  world.hidden = true;
  await world.pass(60_000);
  assert.deepEqual(world.probes, []);
});

test("a page that is shown without a reason to doubt does not probe", async () => {
  const [world] = await frozen();
  world.hidden = true;
  await world.pass(5_000);
  world.hidden = false;
  assert.deepEqual(world.probes, []);
  await world.pass(15_000);
  assert.deepEqual(world.probes, [20_000]);
});

test("a hidden page connects again all the same", async () => {
  const { world, bridge } = await connected();
  world.hidden = true;
  world.socket.drop();
  await world.pass(1_000);
  world.socket.welcome();
  assert.equal(bridge.state, "connected");
});

test("after a sleep, messages are read before deadlines count", async () => {
  const { world, bridge } = await connected();
  const listed = bridge.call("plugins/list");
  const { request } = world.socket;
  world.sleep(3_600_000);
  // The timer runs first, and then the message that came while the page slept.
  await world.pass(0);
  world.socket.answer({ plugins: [], broken: [] }, request);
  assert.deepEqual(await listed, { plugins: [], broken: [] });
  await settle();
  assert.equal(bridge.state, "connected");
});

test("after a sleep, a call without an answer times out", async () => {
  const { world, bridge } = await connected();
  const timedOut = failure(bridge.call("plugins/list"));
  world.sleep(3_600_000);
  await world.pass(250);
  assert.equal((await timedOut).name, "TimeoutError");
});
