/** How log lines reach the daemon. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { World, connected } from "./world.js";

function messages(world: World): string[][] {
  return world.socket
    .of("logs")
    .map(({ records }) => (records as { message: string }[]).map(({ message }) => message));
}

test("lines are gathered for 250 ms", async () => {
  const { world, bridge } = await connected();
  bridge.log("info", "host", "one");
  await world.pass(200);
  bridge.log("warn", "bio", "two");
  await world.pass(49);
  assert.deepEqual(messages(world), []);
  await world.pass(1);
  assert.deepEqual(world.socket.of("logs"), [
    {
      type: "logs",
      records: [
        { level: "info", scope: "host", message: "one", ts: 1_000_000 },
        { level: "warn", scope: "bio", message: "two", ts: 1_000_200 },
      ],
    },
  ]);
  bridge.log("info", "host", "three");
  await world.pass(250);
  assert.equal(messages(world).length, 2);
});

test("a frame has at most 200 lines", async () => {
  const { world, bridge } = await connected();
  for (let line = 0; line < 450; line += 1) {
    bridge.log("info", "host", String(line));
  }
  await world.pass(250);
  assert.deepEqual(messages(world).map((lines) => lines.length), [200, 200, 50]);
});

test("without a connection the newest 500 lines wait", async () => {
  const world = new World();
  const bridge = await world.bridge();
  for (let line = 0; line < 510; line += 1) {
    bridge.log("info", "host", String(line));
  }
  await world.pass(1_000);
  world.socket.welcome();
  const sent = messages(world).flat();
  assert.deepEqual([sent.length, sent[0], sent.at(-1)], [500, "10", "509"]);
});

test("log_flood drops the lines that wait", async () => {
  const { world, bridge } = await connected();
  bridge.log("info", "host", "flood");
  world.socket.drop(1013, "log_flood");
  bridge.log("info", "host", "later");
  await world.pass(5_000);
  world.socket.welcome();
  assert.deepEqual(messages(world), [["later"]]);
});

test("another 1013 keeps them", async () => {
  const { world, bridge } = await connected();
  bridge.log("info", "host", "kept");
  world.socket.drop(1013, "slow_reader");
  await world.pass(5_000);
  world.socket.welcome();
  assert.deepEqual(messages(world), [["kept"]]);
});

test("a page that ends, and a client that is closed, send what waits", async () => {
  for (const end of ["leave", "close"]) {
    const { world, bridge } = await connected();
    bridge.log("error", "host", "last");
    if (end === "leave") {
      world.leave();
    } else {
      bridge.close();
    }
    assert.deepEqual(messages(world), [["last"]]);
  }
});

test("a line that is too long, or no text, still fits into a frame", async () => {
  const { world, bridge } = await connected();
  bridge.log("info", "s".repeat(100), "x".repeat(3_999) + "\u{1f600}");
  await world.pass(250);
  const [frame] = world.socket.of("logs");
  const [record] = frame?.["records"] as { scope: string; message: string }[];
  assert.deepEqual([record?.scope.length, record?.message.length], [64, 4_000]);
  assert.equal(record?.message.at(-1), "\ufffd");
});
