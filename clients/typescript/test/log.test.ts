/** How log lines reach the daemon. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Fixture, begun, connected } from "./fixture.js";

function messages(fixture: Fixture): string[][] {
  return fixture.socket
    .of("logs")
    .map(({ records }) => (records as { message: string }[]).map(({ message }) => message));
}

test("lines are gathered for 250 ms", async () => {
  const { fixture, bridge } = await connected();
  bridge.log("info", "host", "one");
  await fixture.pass(200);
  bridge.log("warn", "bio", "two");
  await fixture.pass(49);
  assert.deepEqual(messages(fixture), []);
  await fixture.pass(1);
  assert.deepEqual(fixture.socket.of("logs"), [
    {
      type: "logs",
      records: [
        { level: "info", scope: "host", message: "one", ts: 1_000_000 },
        { level: "warn", scope: "bio", message: "two", ts: 1_000_200 },
      ],
    },
  ]);
  bridge.log("info", "host", "three");
  await fixture.pass(250);
  assert.equal(messages(fixture).length, 2);
});

test("a frame has at most 200 lines", async () => {
  const { fixture, bridge } = await connected();
  for (let line = 0; line < 450; line += 1) {
    bridge.log("info", "host", String(line));
  }
  await fixture.pass(250);
  assert.deepEqual(messages(fixture).map((lines) => lines.length), [200, 200, 50]);
});

test("without a connection the newest 500 lines wait", async () => {
  const { fixture, bridge } = await begun();
  for (let line = 0; line < 510; line += 1) {
    bridge.log("info", "host", String(line));
  }
  await fixture.pass(1_000);
  fixture.socket.welcome();
  const sent = messages(fixture).flat();
  assert.deepEqual([sent.length, sent[0], sent.at(-1)], [500, "10", "509"]);
});

test("log_flood drops the lines that wait, and another 1013 keeps them", async () => {
  for (const [reason, sent] of [
    ["log_flood", ["later"]],
    ["slow_reader", ["first", "later"]],
  ] as const) {
    const { fixture, bridge } = await connected();
    bridge.log("info", "host", "first");
    fixture.socket.drop(1013, reason);
    bridge.log("info", "host", "later");
    await fixture.pass(5_000);
    fixture.socket.welcome();
    assert.deepEqual(messages(fixture), [sent]);
  }
});

test("a page that ends, and a client that is closed, send what waits", async () => {
  for (const end of ["leave", "close"]) {
    const { fixture, bridge } = await connected();
    bridge.log("error", "host", "last");
    if (end === "leave") {
      fixture.leave();
    } else {
      bridge.close();
    }
    assert.deepEqual(messages(fixture), [["last"]]);
  }
});

test("a line that is too long, or no text, still fits into a frame", async () => {
  const { fixture, bridge } = await connected();
  bridge.log("info", "s".repeat(100), "x".repeat(3_999) + "\u{1f600}");
  await fixture.pass(250);
  const [frame] = fixture.socket.of("logs");
  const [record] = frame?.["records"] as { scope: string; message: string }[];
  assert.deepEqual([record?.scope.length, record?.message.length], [64, 4_000]);
  assert.equal(record?.message.at(-1), "\ufffd");
});
