/** The realms of plugins: what they send, what they may not, and how they end. */

import type { Context, OscMessage, Plugin } from "@bridge/plugin-api";

import { Painting } from "../../bridge/reference/packages/host/src/painting.js";
import { consoleOf } from "../../bridge/reference/packages/host/src/realm/console.js";
import { Drawings } from "../../bridge/reference/packages/host/src/realm/drawing.js";
import { Events } from "../../bridge/reference/packages/host/src/realm/events.js";
import { FrameRealms } from "../../bridge/reference/packages/host/src/realm/realms.js";
import { Realm } from "../../bridge/reference/packages/host/src/realm/realm.js";
import { Recorder } from "../../bridge/reference/packages/host/src/realm/recorder.js";
import { Script } from "../../bridge/reference/packages/host/src/realm/script.js";
import { placeIn, sourceLine } from "../../bridge/reference/packages/host/src/realm/sourcemap.js";
import { Watch } from "../../bridge/reference/packages/host/src/realm/watch.js";
import {
  type Change,
  LIMITS,
  type ToRealm,
} from "../../bridge/reference/packages/host/src/realm/wire.js";
import type { Entry } from "../../bridge/reference/packages/host/src/plugins.js";
import { makeUi } from "../../bridge/reference/packages/api/src/handles.js";
import { PluginCards } from "../../bridge/reference/packages/host/src/plugincards.js";
import { type FakeElement, GIF_URL, withDocument } from "./fakedocument.js";
import { connected, entry, fixture, manifestOf, running, stages } from "./pagefixture.js";
import { type Foreign, foreignText, withFrames } from "./realmfixture.js";
import { FakeEnvironment, equal, failure, pending, quiet, refusal, settle, thrown } from "../../clients/typescript/test/fakeenvironment.js";

const nothing = (): void => undefined;

/** A plugin whose code has taken its port from our runtime, and says that it was loaded. */
function foreign(does: Foreign): Entry {
  return {
    manifest: { id: "evil-one", name: "evil-one", permissions: ["native"] },
    text: foreignText((message, send) => {
      if (message.t === "init") {
        send(JSON.stringify({ t: "loaded", id: "evil-one", schema: null }));
      }
      does(message, send);
    }),
  };
}

/** A plugin whose code speaks to the page by itself, once it was loaded. */
function evil(...messages: unknown[]): Entry {
  return foreign(({ t }, send) => {
    if (t === "activate") {
      send(JSON.stringify({ t: "activated" }));
      messages.forEach((message) =>
        send(typeof message === "object" ? JSON.stringify(message) : message),
      );
    }
  });
}

/** The realms of a page, which makes their frame. */
function framed(): { readonly env: FakeEnvironment; readonly lost: () => number } {
  const env = new FakeEnvironment();
  const realms = new FrameRealms({ later: env.later, isVisible: () => true });
  let times = 0;
  realms.lost.listen(() => {
    times += 1;
    realms.rebuild();
  });
  realms.prepare();
  return { env, lost: () => times };
}

const call = (n: number): object => ({ t: "call", n, name: "native.targets", args: [] });

export const realmScenarios = {
  /** One message that the runtime never sends ends the plugin, and no other. */
  async test_attack_messages_of_another_shape() {
    const text = "x".repeat(LIMITS.ordinary);
    for (const message of [
      7,
      "",
      "{",
      "[]",
      "null",
      '{"t":"__proto__"}',
      "x".repeat(LIMITS.message + 1),
      { t: "loaded", id: "evil-one", schema: null },
      { t: "activated" },
      { t: "stopped" },
      { t: "done", event: 1 },
      { t: "pong", n: text },
      { t: "failed", during: "life", what: "", error: { name: "", message: "", stack: "" } },
      { t: "failed", during: "stop", what: "", error: { name: "", message: text, stack: "" } },
      { t: "failed", during: "stop", what: "", error: null },
      { t: "call", n: 0, name: "sql.query", args: [] },
      { t: "call", n: 1, name: "state.set", args: [] },
      { t: "call", n: 1, name: "toString", args: [] },
      { t: "call", n: 1, name: "sql.query", args: {} },
      { t: "call", n: 1, name: "osc.send", args: [text] },
      { t: "batch", changes: {} },
      { t: "batch", changes: Array(LIMITS.changes + 1).fill({ op: "remove", ref: 1 }) },
      { t: "batch", changes: [{ op: "log", level: "loud", text: "" }] },
      { t: "batch", changes: [{ op: "log", level: "info", text: "x".repeat(3_000) }] },
      { t: "batch", changes: [{ op: "card", ref: 1, title: "" }] },
      { t: "batch", changes: [{ op: "card", ref: 1, title: { a: 1 } }] },
      { t: "batch", changes: [{ op: "part", ref: 1, card: 1, kind: "text", state: {} }] },
      { t: "batch", changes: [{ op: "part", ref: 1, card: 1, kind: "frame", state: {} }] },
      { t: "batch", changes: [{ op: "draw", ref: 1, state: {} }] },
      { t: "batch", changes: [{ op: "remove", ref: 1 }] },
      { t: "batch", changes: Array(2).fill({ op: "card", ref: 1, title: "twice" }) },
      {
        t: "batch",
        changes: [
          { op: "card", ref: 1, title: "a" },
          { op: "part", ref: 2, card: 1, kind: "text", state: { words: "a" } },
          ...Array(2).fill({ op: "draw", ref: 2, state: { words: "b" } }),
        ],
      },
    ]) {
      const page = await connected([evil(message), entry("good-one", { activate: nothing })]);
      equal([message, stages(page)], [message, ["evil-one failed", "good-one running"]]);
      equal(page.realms.started.map(({ hasEnded, isClosed }) => [hasEnded, isClosed]), [
        [true, true],
        [false, false],
      ]);
    }
  },

  /** More messages or characters than its share end the plugin. */
  async test_attack_flood_of_messages() {
    const pong = { t: "pong", n: 1 };
    const many = Array(LIMITS.messages.burst + 1).fill(pong);
    const page = await connected([evil(...many)]);
    equal(page.runtime.plugins()[0]?.error, "the plugin sent more than its share");
    // In characters, too.
    const log = { op: "log", level: "info", text: "x".repeat(2_000) };
    const large = { t: "batch", changes: Array(LIMITS.changes).fill(log) };
    const wide = await connected([evil(...Array(17).fill(large))]);
    equal(wide.runtime.plugins()[0]?.error, "the plugin sent more than its share");
  },

  /** So do more calls than eight without an answer, or a number used twice. */
  async test_attack_calls_beyond_their_number() {
    const calls = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(call);
    const page = await connected([evil(...calls)], { answers: [new Promise(nothing)] });
    equal(stages(page), ["evil-one failed"]);
    const twice = await connected([evil(call(2), call(2))], { answers: [true] });
    equal(stages(twice), ["evil-one failed"]);
    // One more place is for saving a setting.
    const set = (n: number): object => ({ ...call(n), name: "settings.set", args: ["a", 1] });
    for (const [last, stage] of [[[], "running"], [[9], "running"], [[9, 10], "failed"]] as const) {
      const plugin = evil(...calls.slice(0, 8), ...last.map(set));
      const few = await connected([plugin], { answers: [new Promise(nothing)] });
      equal(stages(few), [`evil-one ${stage}`]);
    }
  },

  /** So does a batch before the page has drawn the last, which takes as long again. */
  async test_attack_batch_before_the_last_was_drawn() {
    const sends: ((message: unknown) => void)[] = [];
    const page = await connected([foreign((_, send) => void sends.push(send))]);
    page.cards.add = (id) => {
      page.env.sleep(600);
      return Set.prototype.add.call(page.cards, id) as Set<string>;
    };
    for (const [ref, pause, stage] of [[1, 700, "starting"], [2, 0, "starting"], [3, 0, "failed"]] as const) {
      sends[0]?.(JSON.stringify({ t: "batch", changes: [{ op: "card", ref, title: "x" }] }));
      await quiet();
      await page.env.pass(pause);
      equal(stages(page), [`evil-one ${stage}`]);
    }
  },

  /** What did not fit in a batch, and is changed again, is drawn once in the next. */
  async batches_draw_each_part_once() {
    const page = await running([]);
    const card = page.ctx.ui.card("Card");
    const handles = Array.from({ length: 9 }, () => card.text(""));
    handles.forEach((handle) => handle.set("a".repeat(10_000)));
    await quiet();
    handles.at(-1)?.set("b");
    await page.env.pass(1_000);
    equal(stages(page), ["some-plugin running"]);
  },

  /** A plugin has a number of cells, whichever of its tables have them while the page draws. */
  async cells_of_all_tables() {
    const page = await running([]);
    const card = page.ctx.ui.card("Card");
    const tables = Array.from({ length: 5 }, () => card.table("T", Array(10).fill("c")));
    const rows = Array(500).fill(Array(10).fill(""));
    tables.slice(1).forEach((table) => table.setRows(rows));
    await quiet();
    const [first, second] = tables;
    equal(thrown(() => first?.setRows([rows[0]])), "RangeError: rows: at most 20000 cells for a plugin");
    second?.setRows([]);
    first?.setRows(rows);
    first?.setRows([]);
    second?.setRows(rows);
    second?.setRows([]);
    first?.setRows(rows);
    await page.env.pass(1_000);
    equal(stages(page), ["some-plugin running"]);
  },

  /** What a plugin sends while it stops is drawn for a second, however long each takes. */
  async test_attack_batches_while_it_stops() {
    const batch = (ref: number): object => ({ t: "batch", changes: [{ op: "card", ref, title: "x" }] });
    const page = await connected([
      foreign(({ t }, send) => {
        for (let ref = 1; t === "stop" && ref < 9; ref += 1) {
          send(JSON.stringify(batch(ref)));
        }
      }),
    ]);
    let drawn = 0;
    page.cards.add = () => {
      drawn += 1;
      page.env.sleep(600);
      return page.cards;
    };
    await page.runtime.setEnabled("evil-one", false);
    equal([drawn, stages(page)], [2, ["evil-one off"]]);
  },

  /** A plugin that fails again and again is no breach while the page stands. */
  async failures_while_the_page_stands() {
    const env = new FakeEnvironment();
    const sent: string[] = [];
    const realm = new Realm((text) => void sent.push(text), nothing, env);
    for (let second = 0; second < 30; second += 1) {
      Array.from({ length: 100 }, () => realm.failed("callback", new Error("again"), "a function"));
      await env.pass(1_000);
    }
    equal(sent.length, 100);
    realm.receive('{"t":"ping","n":1}');
    realm.failed("callback", new Error("again"), "a function");
    equal(sent.length, 102);
  },

  /** The layout of a frame counts for each that is drawn in it, by what it had drawn. */
  frames_count_by_parts() {
    let now = 0;
    const frames: ((milliseconds: number) => void)[] = [];
    const took: number[] = [];
    const painting = new Painting(() => now, (done) => void frames.push(done));
    for (const milliseconds of [3.9, 0.9]) {
      painting.run(() => void (now += milliseconds), (all) => void took.push(Math.round(all)));
    }
    equal([frames.length, took], [1, []]);
    frames[0]?.(5);
    equal(took, [8, 2]);
  },

  /** Its console writes to the log, what JSON has not, too. */
  the_console_of_a_plugin() {
    const lines: string[] = [];
    const write = (level: string) => (line: string): void => void lines.push(`${level}: ${line}`);
    const [debug, info, warn, error] = ["debug", "info", "warn", "error"].map(write) as [never, never, never, never];
    const own = consoleOf({ debug, info, warn, error }, console);
    own.log("a", 1, { b: [new Error("c")] }, new Map([[1, 2n]]));
    own.assert(true, "d");
    own.assert(false, "d");
    own.group("e");
    own.count("f");
    own.error(new TypeError("g"));
    equal(lines, [
      'info: a 1 {"b":["Error: c"]} [[1,"2"]]',
      "error: Assertion failed: d",
      "info: e",
      "error: TypeError: g",
    ]);
  },

  /** What a plugin has written before it failed to start explains it. */
  async lines_before_a_failed_start() {
    const activate = (ctx: Context): void => {
      ctx.logger.info("one");
      queueMicrotask(() => ctx.logger.info("two"));
      throw new Error("three");
    };
    const page = await connected([entry("some-plugin", { activate })]);
    equal(page.lines.map((line) => /one|two|three/.exec(line)?.[0]), ["one", "three"]);
  },

  /** A plugin that has run is shown as stopped, and can be switched off. */
  async test_attack_breach_after_a_while() {
    const answer = { activate: '{"t":"activated"}', ping: "{}" };
    const page = await connected([
      foreign(({ t }, send) => t in answer && send(answer[t as keyof typeof answer])),
    ]);
    equal(stages(page), ["evil-one running"]);
    await page.env.pass(5_000);
    equal(stages(page), ["evil-one stopped"]);
    equal(page.realms.started[0]?.hasEnded, true);
    await page.runtime.setEnabled("evil-one", false);
    equal(stages(page), ["evil-one off"]);
  },

  /** What a plugin sends after it was switched off is not heard. */
  async test_attack_messages_after_the_end() {
    const sends: ((message: unknown) => void)[] = [];
    const page = await connected([foreign((_, send) => void sends.push(send))]);
    const off = page.runtime.setEnabled("evil-one", false);
    await quiet();
    await page.env.pass(1_000);
    await off;
    equal(stages(page), ["evil-one off"]);
    const log = { op: "log", level: "info", text: "still here" };
    sends[0]?.(JSON.stringify({ t: "batch", changes: [log, { op: "card", ref: 1, title: "x" }] }));
    await quiet();
    equal([page.lines.filter((line) => line.includes("still")), [...page.cards]], [[], []]);
  },

  /** A plugin that logs, draws and calls in a loop is slowed down, not ended. */
  async honest_floods_stay_within_the_share() {
    const { ctx, realms, runtime, env, lines } = await running(["native"], { answers: [true] });
    const handle = ctx.ui.card("Card").text("");
    // As fast as it can, for a minute of its life.
    for (let second = 0; second < 60; second += 1) {
      for (let n = 0; n < 200; n += 1) {
        handle.set(`${second} ${n}`);
        ctx.logger.info("x".repeat(2_500));
        ctx.native.targets().catch(nothing);
      }
      await env.pass(1_000);
    }
    equal(runtime.plugins().map(({ stage, error }) => [stage, error]), [["running", ""]]);
    const sent = realms.started[0]?.sent.length ?? 0;
    equal([sent > 120, sent < 500 + 60 * 150], [true, true]);
    equal(lines.some((line) => line.endsWith("more lines were left out")), true);
    // The page has nothing to leave out.
    const changes = realms.started[0]?.sent.flatMap((one) => (one.t === "batch" ? one.changes : []));
    const logged = changes?.filter(({ op }) => op === "log").length ?? 0;
    equal([logged > 60 * 40, logged <= 61 * 50], [true, true]);
  },

  /** So is one that uploads as fast as it is answered. */
  async uploads_stay_within_the_share() {
    const page = await running(["network"], { answers: [true] });
    const body = "x".repeat(1_048_576);
    let uploads = 0;
    const upload = async (): Promise<void> => {
      for (; uploads < 60; uploads += 1) {
        await page.ctx.http.fetch("https://a.example/", { method: "POST", body });
      }
    };
    upload().catch(nothing);
    for (let step = 0; step < 300; step += 1) {
      await page.env.pass(100);
    }
    equal([stages(page), uploads], [["some-plugin running"], 60]);
  },

  /** It is refused in the realm, as is what is no JSON. */
  async a_call_that_is_too_large() {
    // What the API and the daemon allow is not.
    const field = { type: "text", label: "Words", maxLength: 10_000 } as const;
    const full = { ...field, default: "x".repeat(10_000) };
    const settings = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`field-${n}`, full]));
    const { ctx } = await running(["native", "network", "sql"], {
      settings,
      answers: [true, true, true],
    });
    const icon = "x".repeat(131_072);
    const fields = { icon, useBase64Icon: true };
    await ctx.native.notify({ title: "Title", ...fields, overrides: { overlay: fields } });
    await ctx.native.call("notify", "send", { title: "Title", ...fields });
    await ctx.sql.query("sample", `select '${"\n".repeat(65_000)}'`);
    const body = "x".repeat(LIMITS.message);
    equal(await refusal(ctx.http.fetch("https://a.example/", { body })), "BridgeError too_large");
    await ctx.settings.set("a", "\u00e4".repeat(32_767));
    const error = await failure(ctx.settings.set("a", "\u00e4".repeat(32_768)));
    equal(error.message, "a: over 65536 bytes of JSON");
    equal(await refusal(ctx.native.call("notify", "send", 1n as never)), "TypeError");
  },

  /** Eight are on their way, 256 more wait, and the rest are refused; a setting is saved. */
  async calls_that_wait_for_others() {
    let save: Plugin["deactivate"] = nothing;
    const page = await running(["native"], { deactivate: () => save?.(), answers: [true] });
    const { ctx, daemon, realms, runtime } = page;
    save = () => ["draft", "title"].forEach((key) => void ctx.settings.set(key, "words"));
    const { call: answer } = daemon;
    daemon.call = (method, ...rest) =>
      method === "notify/targets" ? new Promise(nothing) : answer(method, ...rest);
    const calls = Array.from({ length: 300 }, () => ctx.native.targets());
    const refused = calls.slice(264).map((one) => refusal(one));
    equal([...new Set(await Promise.all(refused))], ["BridgeError rate_limited"]);
    await quiet();
    equal(realms.started[0]?.sent.filter(({ t }) => t === "call").length, LIMITS.unanswered);
    await runtime.setEnabled("some-plugin", false);
    const saved = ["draft", "title"].map((key) => daemon.stored.get(key));
    equal([stages(page), saved], [["some-plugin off"], ["words", "words"]]);
  },

  /** A value that is being written survives what the user saves meanwhile. */
  async settings_changed_by_both() {
    const schema = { n: { type: "number", label: "N", default: 0 } } as const;
    const { ctx, daemon, runtime } = await running([], { settings: schema });
    const { call: answer } = daemon;
    const slow = pending();
    daemon.call = async (method, params, options) => {
      await ((params as { key?: string })["key"] === "own" ? slow.promise : undefined);
      return answer(method, params, options);
    };
    const set = ctx.settings.set("own", 1);
    await runtime.saveSettings("some-plugin", { n: 5 });
    await quiet();
    // What is still being written is not taken back by what the user saved.
    equal([ctx.settings.get("own"), ctx.settings.get("n")], [1, 5]);
    slow.resolve();
    await set;
    equal([daemon.stored.get("own"), daemon.stored.get("n")], [1, 5]);
  },

  /** When all realms end at once, each plugin is started again. */
  async frame_that_dies() {
    const loads: string[] = [];
    const table = ["aa", "bb", "cc"].map((id) =>
      entry(id, { activate: () => void loads.push(id) }),
    );
    const page = await connected(table);
    await page.env.pass(20_000);
    page.realms.lost.emit();
    equal(stages(page), ["aa starting", "bb starting", "cc starting"]);
    await quiet();
    await quiet();
    equal([stages(page), page.realms.rebuilt], [["aa running", "bb running", "cc running"], 1]);
    equal(loads, ["aa", "bb", "cc", "aa", "bb", "cc"]);
    equal(page.runtime.plugins().map(({ error }) => error), ["", "", ""]);
    equal(page.realms.started.map(({ isClosed }) => isClosed), [true, true, true, false, false, false]);
  },

  /** What ends them twice alone is named, can be started, and the others go on. */
  async test_attack_memory_that_ends_all() {
    const ids = ["aa", "bb", "bomb", "dd", "ee"];
    const page = await connected(ids.map((id) => entry(id, { activate: nothing })));
    const running = (): string[] =>
      page.runtime.plugins().filter(({ stage }) => stage === "running").map(({ id }) => id);
    // Whatever runs with it ends with it, five seconds after it was started.
    const live = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second += 5) {
        const ends = running().includes("bomb");
        await page.env.pass(5_000);
        if (ends) {
          page.realms.lost.emit();
        }
        await quiet();
      }
    };
    await live(5);
    equal(running(), ids);
    // Again: half of them wait.
    await live(5);
    equal(running(), ["aa", "bb", "bomb"]);
    await live(5);
    equal(running(), ["aa", "bb", "dd", "ee"]);
    equal(page.runtime.plugins()[2]?.stage, "paused");
    // Those have survived, so the next is tried, alone, twice.
    await live(10);
    equal(running(), ["bomb"]);
    await live(5);
    equal(running(), ["bomb"]);
    equal(page.runtime.plugins().map(({ error }) => error), ["", "", "", "", ""]);
    await live(5);
    equal(running(), ["aa", "bb", "dd", "ee"]);
    const { stage, error } = page.runtime.plugins()[2] ?? {};
    const why = "the process of all plugins ended twice while nothing but it ran there";
    equal([stage, error], ["stopped", why]);
    equal(page.lines.filter((line) => line.includes("was stopped")), [`bomb: was stopped: ${why}`]);
    // The others go on, and it may be started again.
    await live(120);
    equal(running(), ["aa", "bb", "dd", "ee"]);
    await page.runtime.setEnabled("bomb", true);
    equal(running(), ids);
  },

  /** A plugin that never ended them alone is not named. */
  async memory_that_ends_only_with_another() {
    // Neither does it alone, so neither is accused.
    const page = await connected(["aa", "bb"].map((id) => entry(id, { activate: nothing })));
    const count = (stage: string): number =>
      page.runtime.plugins().filter((plugin) => plugin.stage === stage).length;
    for (let second = 0; second < 300; second += 5) {
      const ends = count("running") === 2;
      await page.env.pass(5_000);
      if (ends) {
        page.realms.lost.emit();
      }
      await quiet();
    }
    equal(count("stopped"), 0);
  },

  /** A page's only plugin is named when that happens soon again. */
  async only_plugin_whose_process_ends() {
    const page = await connected([entry("only-one", { activate: nothing })]);
    const die = async (after: number): Promise<string[]> => {
      await page.env.pass(after);
      page.realms.lost.emit();
      await quiet();
      return stages(page);
    };
    // Long after each other says nothing about it.
    equal(await die(4_000), ["only-one running"]);
    equal(await die(600_000), ["only-one running"]);
    equal(await die(5_000), ["only-one stopped"]);
  },

  /** A plugin is tried without those that it depends on. */
  async memory_and_dependencies() {
    // What it depends on waits while it is tried.
    const bomb = entry("bomb", { activate: nothing }, { dependencies: ["aa"] });
    const page = await connected([entry("aa", { activate: nothing }), bomb]);
    for (let end = 0; end < 2; end += 1) {
      page.realms.lost.emit();
      await quiet();
    }
    equal(stages(page), ["aa running", "bomb paused"]);
    await page.env.pass(10_000);
    equal(stages(page), ["aa paused", "bomb running"]);
    await page.env.pass(10_000);
    equal(stages(page), ["aa running", "bomb running"]);
  },

  /** It is shown as silent, also to its author, and can be switched off. */
  async realm_that_does_not_answer() {
    const page = await connected([evil(), entry("good-one", { activate: nothing })]);
    const silent = (): unknown[] => page.runtime.plugins().map((plugin) => plugin.silent);
    await page.env.pass(10_000);
    equal(silent(), [false, false]);
    await page.env.pass(5_000);
    equal([silent(), stages(page)], [[true, false], ["evil-one running", "good-one running"]]);
    equal(page.lines.at(-1), "evil-one: it doesn't answer");
    const off = page.runtime.setEnabled("evil-one", false);
    await quiet();
    await page.env.pass(1_000);
    await off;
    equal(silent(), [false, false]);
  },

  /** A plugin that was uninstalled elsewhere ends; what it wrote meanwhile is removed as well. */
  async test_attack_settings_that_come_back() {
    const page = await connected([
      entry("gone-one", { activate: (ctx) => void ctx.ui.card("x") }),
      entry("good-one", { activate: nothing }),
    ]);
    equal([...page.cards], ["gone-one"]);
    // The daemon removed all; then what was already on its way arrived.
    page.daemon.stored.set("late", 1);
    page.daemon.asked.length = 0;
    await page.runtime.installed([{ id: "good-one", keyId: "k" }]);
    const deleted = page.daemon.asked.filter((asked) => asked.includes("delete plugin:"));
    equal([deleted, page.daemon.stored.has("late")], [["state/delete plugin:gone-one late"], false]);
    await quiet();
    equal([stages(page), [...page.cards]], [["gone-one removed", "good-one running"], []]);
    equal(page.realms.started.map(({ hasEnded }) => hasEnded), [true, false]);
    // The next link of a directory finds what was set in the one before.
    page.daemon.stored.set("own", 1);
    await page.runtime.installed([{ id: "good-one", keyId: "", dev: true }]);
    await page.runtime.installed([]);
    equal([stages(page), page.daemon.stored.has("own")], [["gone-one removed", "good-one removed"], true]);
    // Loaded again with it, as when no bundle could be built without it.
    const again = fixture([entry("gone-one", { activate: nothing })], page);
    await again.runtime.installed([]);
    again.daemon.opened.emit();
    await quiet();
    equal([stages(again), again.daemon.stored.has("own")], [["gone-one removed"], true]);
  },

  async page_that_is_left() {
    const page = await connected([entry("some-plugin", { activate: nothing })]);
    page.runtime.close();
    equal(page.realms.started.map(({ hasEnded }) => hasEnded), [true]);
  },

  /** While a page is hidden, no realm is asked, and none is silent. */
  async watch_of_a_hidden_page() {
    const env = new FakeEnvironment();
    let visible = true;
    const heard: unknown[] = [];
    const parts = { later: env.later, isVisible: () => visible };
    const watch = new Watch(parts, 1_000, () => heard.push("ping"), (silent) => heard.push(silent));
    await env.pass(1_000);
    watch.heard();
    visible = false;
    await env.pass(10_000);
    equal(heard, ["ping"]);
    visible = true;
    await env.pass(3_000);
    equal([heard, watch.isSilent], [["ping", "ping", true], true]);
    watch.heard();
    equal(heard.at(-1), false);
    watch.end();
    await env.pass(5_000);
    equal(heard.length, 4);
  },

  /** Its process has ended when another frame answers and it does not, or none for long. */
  async frames_that_answer_late() {
    for (const [why, answers, ended] of [
      ["a process without a processor for a while", [[0, 30_000], [0, 0], [1, 0]], 0],
      ["a process that ended", [[0, 6_000], [1, 4_000]], 1],
      // WebKit reads for each frame by itself: next to a flood, a new one overtakes.
      ["a frame that is overtaken", [[0, 6_000], [1, 2_000], [0, 4_000]], 0],
      ["where none answers", [[0, 40_000]], 1],
    ] as const) {
      await withFrames(async (frames) => {
        const { env, lost } = framed();
        for (const [frame, pause] of answers) {
          frames[frame]?.answer();
          await env.pass(pause);
        }
        equal([why, frames.length, lost()], [why, 2, ended]);
      });
    }
  },

  /** A comparison ends when the frame answers: it says nothing about the next silence. */
  async frame_that_is_slow_twice() {
    await withFrames(async (frames) => {
      const { env, lost } = framed();
      frames[0]?.answer();
      await env.pass(6_000);
      frames[0]?.answer();
      equal(frames[1]?.parent === undefined, true);
      await env.pass(6_000);
      frames[1]?.answer();
      await settle();
      equal([frames.length, lost()], [3, 0]);
      frames[2]?.answer();
      await settle();
      // Nor do they both find its end.
      await env.pass(40_000);
      equal(lost(), 1);
    });
  },

  /** In front of a realm that does not listen, little piles up. */
  events_on_their_way() {
    const sent: ToRealm[] = [];
    const events = new Events((message) => sent.push(message));
    const event = (): number => (sent.at(-1) as { event: number }).event;
    events.send(1);
    events.send(1);
    events.send(2, 5);
    events.send(2, 7);
    // A number that the user has cleared.
    events.send(2, null);
    equal(sent.length, 2);
    events.done(event());
    equal(sent.slice(2), [{ t: "event", event: 3, ref: 2, value: null }]);
    const message = (address: string, n: number): OscMessage => ({
      address,
      args: [{ kind: "int", value: n }],
    });
    for (let n = 0; n < 1_000; n += 1) {
      events.received(1, message(`/${n % 300}`, n));
    }
    equal(sent.length, 4);
    events.done(event());
    const { messages } = sent.at(-1) as Extract<ToRealm, { t: "osc" }>;
    equal([messages.length, messages.at(-1)?.message.args[0]?.value], [LIMITS.osc, 999]);
    // What is kept since too many others were open is sent with the first that is done.
    const before = sent.length;
    for (let ref = 3; ref < 50; ref += 1) {
      events.send(ref, ref);
    }
    const open = sent.length;
    events.done(event());
    equal([open - before, sent.length - open], [LIMITS.events - 3, 1]);
  },

  /** An error names the source and the line, in each browser's words. */
  places_of_errors() {
    // As esbuild writes it: line 3 of the text is line 8 of main.ts.
    const map = { sources: ["src/a.ts", "main.ts"], mappings: ";AAAA;ICOA,MAAM;;ADNA" };
    equal(sourceLine(map, { line: 3, column: 5 }), "main.ts:8");
    equal(sourceLine(map, { line: 2, column: 1 }), "src/a.ts:1");
    equal(sourceLine(map, { line: 5, column: 1 }), "src/a.ts:2");
    equal([sourceLine(map, { line: 4, column: 1 }), sourceLine(7, { line: 1, column: 1 })], ["", ""]);
    const stacks = [
      "TypeError: x\n    at run (plugin-bio.js:1:9)\n    at f (plugin-bio.js:12:5)",
      "__realm@blob:null/1-2:2:1\nf@blob:null/1-2:12:5",
    ];
    for (const stack of stacks) {
      equal(placeIn(stack, 9), { line: 3, column: 5 });
    }
    equal(placeIn("at https://example.org/x.js:12:5", 0) === undefined, true);
    let now = 0;
    const script = new Script("runtime();\n", "bio", "var plugin;", map, () => now);
    const error = { name: "TypeError", message: "x", stack: "at plugin-bio.js:5:5" };
    equal(script.describe(error), "TypeError: x (main.ts:8)");
    equal(script.describe({ name: "", message: "mine", stack: "" }), "mine");
    const report = script.describeEvent("Uncaught SyntaxError: y", { line: 5, column: 5 });
    equal(report, "SyntaxError: y (main.ts:8)");
    const silent = script.describeEvent("", { line: 0, column: 0 });
    equal(silent, "it does not parse in this browser");
    const flood = Array.from({ length: 99 }, () => script.describe(error));
    equal(flood.at(-1), "TypeError: x");
    now += 1_000;
    equal(script.describe(error), "TypeError: x (main.ts:8)");
  },

  /** Cards and what users do with them are the same on both sides. */
  cards_drawn_from_changes: () =>
    withDocument(() => {
      const cards = new PluginCards();
      const root = cards.element as unknown as FakeElement;
      const pressed: unknown[] = [];
      const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
      const page = new Drawings(cards.place(manifestOf({}), logger).ui, (ref, value) => {
        pressed.push(value);
        recorder.event(ref, value ?? null);
      });
      const heard: unknown[] = [];
      const recorder = new Recorder(
        (change) => page.apply(JSON.parse(JSON.stringify(change)) as Exclude<Change, { op: "log" }>),
        nothing,
      );
      const changed = ({ value }: { value: unknown }): void => void heard.push(value);
      const card = makeUi(recorder).card("Card");
      const text = card.text("words");
      const button = card.button("Press", () => void heard.push("pressed"));
      const input = card.input("Input", { value: "a", help: "Help", changed });
      const number = card.number("Number", { min: 1, max: 5, changed });
      const table = card.table("Table", ["a"]);
      const bar = card.progress("Bar");
      const image = card.image(GIF_URL, "before");
      table.setRows([[1], [2]]);
      bar.set(0.5);
      text.set("other");
      button.setLabel("Go");
      input.set("b");
      number.set(2);
      image.set(GIF_URL, "after");
      equal(root.all("img").map(({ src, alt }) => [src, alt]), [[GIF_URL, "after"]]);
      const [first, second] = root.all("input");
      equal([first?.value, second?.value], ["b", "2"]);
      equal(root.all("td").length, 2);
      root.all("button")[0]?.fire("click");
      for (const [field, value] of [[first, "c"], [second, 9], [second, 4]] as const) {
        if (field !== undefined) {
          field.value = value;
          field.valueAsNumber = Number(value);
          field.fire("change");
        }
      }
      equal([pressed, heard], [[undefined, "c", 4], ["pressed", "c", 4]]);
      equal([input.value(), number.value()], ["c", 4]);
      button.enable(false);
      input.enable(false);
      text.show(false);
      root.all("button")[0]?.fire("click");
      equal([pressed.length, heard.length, root.all("p")[0]?.hidden], [3, 3, true]);
      equal([first?.readOnly, second?.readOnly], [true, false]);
      // A press that was on its way when its button went is dropped.
      button.enable(true);
      button.remove();
      recorder.event(3, null);
      equal(heard.length, 3);
      text.remove();
      number.set(undefined);
      equal(second?.value, "");
      card.remove();
      equal(root.all("section").length, 0);
      // A second time, the page is sent nothing: it would be a breach.
      card.remove();
    }),
};
