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
import { Fixture, begun, connected, failure, settle } from "./fixture.js";

const URL_OF = { url: "https://example.org/bio" };
const PLUGIN = { plugin: { id: "bio" } };

interface Installing {
  readonly fixture: Fixture;
  readonly bridge: Bridge;
  readonly outcome: Promise<unknown>;
  readonly ref: string;
}

/** An install whose request was sent. */
async function installing(options: OperateOptions = {}): Promise<Installing> {
  const { fixture, bridge } = await connected();
  const outcome = bridge.operate("plugins/install", URL_OF, options);
  outcome.catch(() => undefined);
  await settle();
  const { ref } = fixture.socket.request["params"] as { ref: string };
  return { fixture, bridge, outcome, ref };
}

/** Lose the connection, connect again, and return the request for operations. */
async function lose({ fixture }: Installing): Promise<void> {
  fixture.socket.drop();
  await fixture.pass(1_000);
  fixture.socket.welcome();
  await settle();
  assert.equal(fixture.socket.request["method"], "operations");
}

function listed(ref: string, more: object = {}): object {
  const operation = { operation: "7", op: "install", ref, step: "clone", cancellable: true };
  return { operations: [{ operation: "6", ref: "other", outcome: "done" }, { ...operation, ...more }] };
}

const methods = (fixture: Fixture): unknown[] => fixture.socket.requests.map(({ method }) => method);

test("an operation is a call with a reference of its own", async () => {
  const one = await installing();
  const two = await installing();
  assert.match(one.ref, /^[0-9a-f]{32}$/);
  assert.notEqual(one.ref, two.ref);
  assert.deepEqual(one.fixture.socket.request["params"], { ...URL_OF, ref: one.ref });
  one.fixture.socket.answer(PLUGIN);
  assert.deepEqual(await one.outcome, PLUGIN);
});

test("its steps are reported, and those of others are not", async () => {
  const steps: unknown[] = [];
  const run = await installing({ onProgress: ({ step }) => steps.push(step) });
  const push = (step: string, ref: string | null): void =>
    run.fixture.socket.push("progress", { op: "install", id: null, step, message: "", ref });
  push("clone", run.ref);
  push("build", "other");
  push("build", null);
  push("policy", run.ref);
  run.fixture.socket.answer(PLUGIN);
  await run.outcome;
  push("build", run.ref);
  assert.deepEqual(steps, ["clone", "policy"]);
});

test("after a loss nothing is sent again, and a step makes it look for the outcome", async () => {
  const run = await installing();
  await lose(run);
  run.fixture.socket.answer(listed(run.ref));
  await settle();
  run.fixture.socket.push("progress", { op: "install", step: "build", ref: run.ref });
  await settle();
  run.fixture.socket.answer(listed(run.ref, { outcome: "done", result: PLUGIN }));
  assert.deepEqual(await run.outcome, PLUGIN);
  assert.equal(run.fixture.now(), 1_000);
  assert.deepEqual(methods(run.fixture), ["operations", "operations"]);
});

test("a refusal is found again too", async () => {
  const run = await installing();
  await lose(run);
  const error = { code: "bad_request", message: "policy: main.ts: eval" };
  run.fixture.socket.answer(listed(run.ref, { outcome: "refused", error }));
  const found = await failure(run.outcome);
  assert.ok(found instanceof RefusedError);
  assert.deepEqual([found.prefix, found.detail], ["policy", "main.ts: eval"]);
});

test("an operation is lost once the daemon does not know it, list it, or take the token", async () => {
  for (const end of [
    async (run: Installing) => (await lose(run), run.fixture.socket.answer({ operations: [] })),
    async (run: Installing) => (await lose(run), run.fixture.socket.refuse("internal", "it failed")),
    async (run: Installing) => run.fixture.socket.drop(1001, "token_rotated"),
  ]) {
    const run = await installing();
    await end(run);
    const error = await failure(run.outcome);
    assert.ok(error instanceof LostError);
    assert.equal(error.sent, true);
  }
});

test("the connection may be lost again and again", async () => {
  const run = await installing();
  const { fixture, bridge } = run;
  for (let round = 0; round < 3; round += 1) {
    fixture.health = undefined;
    fixture.socket.drop();
    await fixture.pass(600_000);
    fixture.health = { ok: true };
    bridge.retry();
    await settle();
    fixture.socket.welcome();
    await fixture.pass(2_000);
  }
  fixture.socket.refuse("rate_limited", "too many requests", { retryAfter: 1 });
  await fixture.pass(1_000);
  fixture.socket.refuse("rate_limited", "too many requests", { retryAfter: 1 });
  await fixture.pass(2_000);
  fixture.socket.answer(listed(run.ref, { outcome: "done", result: PLUGIN }));
  assert.deepEqual(await run.outcome, PLUGIN);
});

test("a step that is listed is reported once, as one that is pushed", async () => {
  const steps: unknown[] = [];
  const run = await installing({ onProgress: ({ step }) => steps.push(step) });
  const push = (step: string): void =>
    run.fixture.socket.push("progress", { op: "install", id: null, step, ref: run.ref });
  push("clone");
  await lose(run);
  run.fixture.socket.answer(listed(run.ref, { step: "clone" }));
  await run.fixture.pass(2_000);
  run.fixture.socket.answer(listed(run.ref, { step: "policy" }));
  await run.fixture.pass(2_000);
  run.fixture.socket.answer(listed(run.ref, { step: "policy" }));
  await settle();
  push("policy");
  await settle();
  run.fixture.socket.answer(listed(run.ref, { outcome: "done", result: PLUGIN }));
  await run.outcome;
  assert.deepEqual(steps, ["clone", "policy", "policy"]);
});

test("an answer that takes longer than 130 s is waited for", async () => {
  const run = await installing();
  await run.fixture.pass(130_000);
  assert.deepEqual(methods(run.fixture), ["install", "operations"]);
  run.fixture.socket.answer(listed(run.ref));
  await run.fixture.pass(2_000);
  run.fixture.socket.answer(listed(run.ref, { outcome: "done", result: PLUGIN }));
  assert.deepEqual(await run.outcome, PLUGIN);
});

test("the reference of an operation that is listed joins it", async () => {
  const { fixture, bridge } = await connected();
  const outcome = bridge.operate("plugins/install", { ...URL_OF, ref: "kept" });
  await settle();
  fixture.socket.answer(listed("kept", { outcome: "done", result: PLUGIN }));
  await settle();
  fixture.socket.answer(listed("kept", { outcome: "done", result: PLUGIN }));
  assert.deepEqual(await outcome, PLUGIN);
  assert.equal(methods(fixture).includes("install"), false);
});

test("the reference of an operation that is not listed, or of another, is sent", async () => {
  for (const answer of [{ operations: [] }, listed("new", { op: "preview", outcome: "done" })]) {
    const { fixture, bridge } = await connected();
    const outcome = bridge.operate("plugins/install", { ...URL_OF, ref: "new" });
    await settle();
    fixture.socket.answer(answer);
    await settle();
    assert.deepEqual(fixture.socket.request["params"], { ...URL_OF, ref: "new" });
    fixture.socket.answer(PLUGIN);
    assert.deepEqual(await outcome, PLUGIN);
  }
});

test("an operation that could not be begun was not sent", async () => {
  for (const drop of [false, true]) {
    const { fixture, bridge } = await begun();
    const params = drop ? { ...URL_OF, ref: "new" } : URL_OF;
    const lost = failure(bridge.operate("plugins/install", params));
    if (drop) {
      fixture.socket.welcome();
      await settle();
      fixture.socket.drop();
    }
    fixture.health = undefined;
    await fixture.pass(4_000);
    const error = await lost;
    assert.ok(error instanceof LostError);
    assert.equal(error.sent, false);
  }
  const { bridge } = await begun({}, { token: "" });
  assert.ok((await failure(bridge.operate("plugins/install", URL_OF))) instanceof PairingError);
});

test("an abort asks the daemon to cancel, and its refusal is the abort", async () => {
  const abort = new AbortController();
  const run = await installing({ signal: abort.signal });
  const { request } = run.fixture.socket;
  run.fixture.socket.push("progress", { op: "install", ref: run.ref, operation: "7" });
  abort.abort();
  await settle();
  assert.deepEqual(run.fixture.socket.request["method"], "cancel");
  assert.deepEqual(run.fixture.socket.request["params"], { operation: "7" });
  run.fixture.socket.answer({});
  const error = { code: "bad_request", message: "cancelled: by the page" };
  run.fixture.socket.receive({ type: "response", id: request["id"], ok: false, error });
  assert.equal((await failure(run.outcome)).name, "AbortError");
});

test("an abort finds the operation by its reference, and may come too late", async () => {
  const abort = new AbortController();
  const run = await installing({ signal: abort.signal });
  const { request } = run.fixture.socket;
  abort.abort();
  await settle();
  run.fixture.socket.answer(listed(run.ref));
  await settle();
  assert.deepEqual(run.fixture.socket.request["params"], { operation: "7" });
  run.fixture.socket.refuse("bad_request", "not_cancellable: it is nearly done");
  run.fixture.socket.answer(PLUGIN, request);
  assert.deepEqual(await run.outcome, PLUGIN);
});

test("an abort while it is followed cancels it", async () => {
  const abort = new AbortController();
  const run = await installing({ signal: abort.signal });
  await lose(run);
  run.fixture.socket.answer(listed(run.ref));
  await settle();
  abort.abort();
  await settle();
  assert.deepEqual(run.fixture.socket.request["params"], { operation: "7" });
  run.fixture.socket.answer({});
  await run.fixture.pass(2_000);
  const error = { code: "bad_request", message: "cancelled: by the page" };
  run.fixture.socket.answer(listed(run.ref, { outcome: "cancelled", error }));
  assert.equal((await failure(run.outcome)).name, "AbortError");
});

test("an abort that a lost connection keeps from the daemon ends the wait, and is sent later", async () => {
  const abort = new AbortController();
  const steps: unknown[] = [];
  const onProgress = ({ step }: { readonly step: string }): unknown => steps.push(step);
  const run = await installing({ signal: abort.signal, onProgress });
  const { fixture } = run;
  fixture.socket.push("progress", { ref: run.ref, operation: "7", step: "clone" });
  fixture.health = undefined;
  fixture.socket.drop();
  abort.abort();
  await fixture.pass(4_000);
  assert.equal((await failure(run.outcome)).name, "AbortError");
  await fixture.pass(60_000);
  fixture.health = { ok: true };
  run.bridge.retry();
  await settle();
  fixture.socket.welcome();
  await fixture.pass(2_000);
  fixture.socket.answer(listed(run.ref));
  await settle();
  assert.deepEqual(methods(fixture), ["operations", "cancel"]);
  assert.deepEqual(fixture.socket.request["params"], { operation: "7" });
  fixture.socket.answer({});
  await fixture.pass(2_000);
  const error = { code: "bad_request", message: "cancelled: by the page" };
  fixture.socket.answer(listed(run.ref, { step: "build" }));
  await fixture.pass(2_000);
  fixture.socket.answer(listed(run.ref, { outcome: "cancelled", error }));
  await fixture.pass(60_000);
  assert.equal(methods(fixture).at(-1), "operations");
  assert.equal(methods(fixture).filter((method) => method === "cancel").length, 1);
  assert.deepEqual(steps, ["clone"]);
});

test("an abort before it is sent keeps it from being sent", async () => {
  const { fixture, bridge } = await begun();
  const abort = new AbortController();
  const aborted = failure(bridge.operate("plugins/install", URL_OF, { signal: abort.signal }));
  abort.abort();
  assert.equal((await aborted).name, "AbortError");
  const already = failure(bridge.operate("plugins/install", URL_OF, { signal: abort.signal }));
  assert.equal((await already).name, "AbortError");
  fixture.socket.welcome();
  await settle();
  assert.deepEqual(fixture.socket.requests, []);
});
