import assert from "node:assert/strict";
import { test } from "node:test";

import { fakeContext } from "@bridge/plugin-api/testing";

import plugin from "../main";

test("shows the greeting", async () => {
  const fake = fakeContext(plugin);
  await plugin.activate(fake.ctx);
  assert.equal(fake.cards[0]?.text, "It works.");
});

test("shows the user's own greeting", async () => {
  const fake = fakeContext(plugin, { settings: { greeting: "Hello!" } });
  await plugin.activate(fake.ctx);
  assert.equal(fake.cards[0]?.text, "Hello!");
});

test("follows what the user saves", async () => {
  const fake = fakeContext(plugin);
  await plugin.activate(fake.ctx);
  fake.save({ greeting: "Hello again!" });
  assert.equal(fake.cards[0]?.text, "Hello again!");
});

test("leaves nothing behind when it is switched off", async () => {
  const fake = fakeContext(plugin);
  await plugin.activate(fake.ctx);
  await fake.switchOff();
  assert.equal(fake.cards.length, 0);
  assert.equal(fake.isListening, false);
});
