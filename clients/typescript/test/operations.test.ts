/** How long operations are followed to their outcome. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  type Bridge,
  LostError,
  type OperateOptions,
  PairingError,
  RefusedError,
} from "../../../bridge/reference/packages/client/src/index.js";
import { World, connected, failure, settle } from "./world.js";

const URL_OF = { url: "https://example.org/bio" };
const PLUGIN = { plugin: { id: "bio" } };

interface Installing {
  readonly world: World;
  readonly bridge: Bridge;
  readonly outcome: Promise<unknown>;
  readonly ref: string;
}

/** An install whose request was sent. */
async function installing(options: OperateOptions = {}): Promise<Installing> {
  const { world, bridge } = await connected();
  const outcome = bridge.operate("plugins/install", URL_OF, options);
  outcome.catch(() => undefined);
  await settle();
  const { ref } = world.socket.request["params"] as { ref: string };
  return { world, bridge, outcome, ref };
}

/** Lose the connection, connect again, and return the request for operations. */
async function lose({ world }: Installing): Promise<void> {
  world.socket.drop();
  await world.pass(1_000);
  world.socket.welcome();
  await settle();
  assert.equal(world.socket.request["method"], "operations");
}

function listed(ref: string, more: object = {}): object {
  const operation = { operation: "7", op: "install", ref, step: "clone", cancellable: true };
  return { operations: [{ operation: "6", ref: "other", outcome: "done" }, { ...operation, ...more }] };
}

const methods = (world: World): unknown[] => world.socket.requests.map(({ method }) => method);

test("an operation is a call with a reference of its own", async () => {
  const one = await installing();
  const two = await installing();
  assert.match(one.ref, /^[0-9a-f]{32}$/);
  assert.notEqual(one.ref, two.ref);
  assert.deepEqual(one.world.socket.request["params"], { ...URL_OF, ref: one.ref });
  one.world.socket.answer(PLUGIN);
  assert.deepEqual(await one.outcome, PLUGIN);
});

test("its steps are reported, and those of others are not", async () => {
  const steps: unknown[] = [];
  const run = await installing({ onProgress: ({ step }) => steps.push(step) });
  const push = (step: string, ref: string | null): void =>
    run.world.socket.push("progress", { op: "install", id: null, step, message: "", ref });
  push("clone", run.ref);
  push("build", "other");
  push("build", null);
  push("policy", run.ref);
  run.world.socket.answer(PLUGIN);
  await run.outcome;
  push("build", run.ref);
  assert.deepEqual(steps, ["clone", "policy"]);
});

test("a refusal is the outcome", async () => {
  const run = await installing();
  run.world.socket.refuse("bad_request", "denied: nobody confirmed it");
  const error = await failure(run.outcome);
  assert.ok(error instanceof RefusedError);
  assert.equal(error.prefix, "denied");
});

test("a lost connection is followed by the outcome, and nothing is sent again", async () => {
  const run = await installing();
  await lose(run);
  run.world.socket.answer(listed(run.ref));
  await run.world.pass(2_000);
  run.world.socket.answer(listed(run.ref, { outcome: "done", result: PLUGIN }));
  assert.deepEqual(await run.outcome, PLUGIN);
  assert.deepEqual(methods(run.world), ["operations", "operations"]);
});

test("the outcome is looked for at once when something happens", async () => {
  const run = await installing();
  await lose(run);
  run.world.socket.answer(listed(run.ref));
  await settle();
  run.world.socket.push("progress", { op: "install", step: "build", ref: run.ref });
  await settle();
  run.world.socket.answer(listed(run.ref, { outcome: "done", result: PLUGIN }));
  assert.deepEqual(await run.outcome, PLUGIN);
  assert.equal(run.world.now(), 1_000);
});

test("a refusal is found again too", async () => {
  const run = await installing();
  await lose(run);
  const error = { code: "bad_request", message: "policy: main.ts: eval" };
  run.world.socket.answer(listed(run.ref, { outcome: "refused", error }));
  const found = await failure(run.outcome);
  assert.ok(found instanceof RefusedError);
  assert.deepEqual([found.prefix, found.detail], ["policy", "main.ts: eval"]);
});

test("an operation the daemon no longer knows is lost", async () => {
  const run = await installing();
  await lose(run);
  run.world.socket.answer({ operations: [] });
  const error = await failure(run.outcome);
  assert.ok(error instanceof LostError);
  assert.equal(error.sent, true);
});

test("the connection may be lost again and again", async () => {
  const run = await installing();
  const { world, bridge } = run;
  for (let round = 0; round < 3; round += 1) {
    world.health = undefined;
    world.socket.drop();
    await world.pass(600_000);
    world.health = { ok: true };
    bridge.retry();
    await settle();
    world.socket.welcome();
    await world.pass(2_000);
  }
  world.socket.refuse("rate_limited", "too many requests", { retryAfter: 1 });
  await world.pass(1_000);
  world.socket.refuse("rate_limited", "too many requests", { retryAfter: 1 });
  await world.pass(2_000);
  world.socket.answer(listed(run.ref, { outcome: "done", result: PLUGIN }));
  assert.deepEqual(await run.outcome, PLUGIN);
});

test("a daemon that cannot list it leaves it lost", async () => {
  const run = await installing();
  await lose(run);
  run.world.socket.refuse("internal", "the daemon failed; see its log");
  assert.ok((await failure(run.outcome)) instanceof LostError);
});

test("a step that is listed is reported once, as one that is pushed", async () => {
  const steps: unknown[] = [];
  const run = await installing({ onProgress: ({ step }) => steps.push(step) });
  const push = (step: string): void =>
    run.world.socket.push("progress", { op: "install", id: null, step, ref: run.ref });
  push("clone");
  await lose(run);
  run.world.socket.answer(listed(run.ref, { step: "clone" }));
  await run.world.pass(2_000);
  run.world.socket.answer(listed(run.ref, { step: "policy" }));
  await run.world.pass(2_000);
  run.world.socket.answer(listed(run.ref, { step: "policy" }));
  await settle();
  push("policy");
  await settle();
  run.world.socket.answer(listed(run.ref, { outcome: "done", result: PLUGIN }));
  await run.outcome;
  assert.deepEqual(steps, ["clone", "policy", "policy"]);
});

test("an answer that takes longer than 130 s is waited for", async () => {
  const run = await installing();
  await run.world.pass(130_000);
  assert.deepEqual(methods(run.world), ["install", "operations"]);
  run.world.socket.answer(listed(run.ref));
  await run.world.pass(2_000);
  run.world.socket.answer(listed(run.ref, { outcome: "done", result: PLUGIN }));
  assert.deepEqual(await run.outcome, PLUGIN);
});

test("a token that was replaced meanwhile ends the wait", async () => {
  const run = await installing();
  run.world.socket.drop(1001, "token_rotated");
  const error = await failure(run.outcome);
  assert.ok(error instanceof LostError);
  assert.equal(error.sent, true);
});

test("the reference of an operation that is listed joins it", async () => {
  const { world, bridge } = await connected();
  const outcome = bridge.operate("plugins/install", { ...URL_OF, ref: "kept" });
  await settle();
  world.socket.answer(listed("kept", { outcome: "done", result: PLUGIN }));
  await settle();
  world.socket.answer(listed("kept", { outcome: "done", result: PLUGIN }));
  assert.deepEqual(await outcome, PLUGIN);
  assert.equal(methods(world).includes("install"), false);
});

test("the reference of an operation that is not listed begins it", async () => {
  const { world, bridge } = await connected();
  const outcome = bridge.operate("plugins/install", { ...URL_OF, ref: "new" });
  await settle();
  world.socket.answer({ operations: [] });
  await settle();
  assert.deepEqual(world.socket.request["params"], { ...URL_OF, ref: "new" });
  world.socket.answer(PLUGIN);
  assert.deepEqual(await outcome, PLUGIN);
});

test("an operation begun without a connection waits for one", async () => {
  const world = new World();
  const bridge = await world.bridge();
  const outcome = bridge.operate("plugins/install", URL_OF);
  world.socket.welcome();
  await settle();
  world.socket.answer(PLUGIN);
  assert.deepEqual(await outcome, PLUGIN);
});

test("an operation that could not be begun was not sent", async () => {
  for (const drop of [false, true]) {
    const world = new World();
    const bridge = await world.bridge();
    const params = drop ? { ...URL_OF, ref: "new" } : URL_OF;
    const lost = failure(bridge.operate("plugins/install", params));
    if (drop) {
      world.socket.welcome();
      await settle();
      world.socket.drop();
    }
    world.health = undefined;
    await world.pass(4_000);
    const error = await lost;
    assert.ok(error instanceof LostError);
    assert.equal(error.sent, false);
  }
  const world = new World();
  const bridge = await world.bridge({ token: "" });
  assert.ok((await failure(bridge.operate("plugins/install", URL_OF))) instanceof PairingError);
});

test("an abort asks the daemon to cancel, and its refusal is the abort", async () => {
  const abort = new AbortController();
  const run = await installing({ signal: abort.signal });
  const { request } = run.world.socket;
  run.world.socket.push("progress", { op: "install", ref: run.ref, operation: "7" });
  abort.abort();
  await settle();
  assert.deepEqual(run.world.socket.request["method"], "cancel");
  assert.deepEqual(run.world.socket.request["params"], { operation: "7" });
  run.world.socket.answer({});
  const error = { code: "bad_request", message: "cancelled: by the page" };
  run.world.socket.receive({ type: "response", id: request["id"], ok: false, error });
  assert.equal((await failure(run.outcome)).name, "AbortError");
});

test("an abort before the first step finds the operation by its reference", async () => {
  const abort = new AbortController();
  const run = await installing({ signal: abort.signal });
  abort.abort();
  await settle();
  run.world.socket.answer(listed(run.ref));
  await settle();
  assert.deepEqual(run.world.socket.request["params"], { operation: "7" });
});

test("an abort that comes too late changes nothing", async () => {
  const abort = new AbortController();
  const run = await installing({ signal: abort.signal });
  const { request } = run.world.socket;
  run.world.socket.push("progress", { op: "install", ref: run.ref, operation: "7" });
  abort.abort();
  await settle();
  run.world.socket.refuse("bad_request", "not_cancellable: it is nearly done");
  run.world.socket.answer(PLUGIN, request);
  assert.deepEqual(await run.outcome, PLUGIN);
});

test("an abort while it is followed cancels it", async () => {
  const abort = new AbortController();
  const run = await installing({ signal: abort.signal });
  await lose(run);
  run.world.socket.answer(listed(run.ref));
  await settle();
  abort.abort();
  await settle();
  assert.deepEqual(run.world.socket.request["params"], { operation: "7" });
  run.world.socket.answer({});
  await run.world.pass(2_000);
  const error = { code: "bad_request", message: "cancelled: by the page" };
  run.world.socket.answer(listed(run.ref, { outcome: "cancelled", error }));
  assert.equal((await failure(run.outcome)).name, "AbortError");
});

test("an abort before it is sent keeps it from being sent", async () => {
  const world = new World();
  const bridge = await world.bridge();
  const abort = new AbortController();
  const aborted = failure(bridge.operate("plugins/install", URL_OF, { signal: abort.signal }));
  abort.abort();
  assert.equal((await aborted).name, "AbortError");
  const already = failure(bridge.operate("plugins/install", URL_OF, { signal: abort.signal }));
  assert.equal((await already).name, "AbortError");
  world.socket.welcome();
  await settle();
  assert.deepEqual(world.socket.requests, []);
});
