/** The plugin manager, without its views. */

import type { ListEntry } from "../../bridge/reference/packages/client/src/index.js";
import { hostAndPath, openable, suggestion } from "../../bridge/reference/packages/host/src/model/address.js";
import { diagnostics, redacted } from "../../bridge/reference/packages/host/src/model/diagnostics.js";
import {
  type Preview,
  changesKey,
  entriesOf,
  gains,
} from "../../bridge/reference/packages/host/src/model/entries.js";
import { filtered, lineText } from "../../bridge/reference/packages/host/src/model/logbuffer.js";
import { fragmentOf, readRoute } from "../../bridge/reference/packages/host/src/model/navigation.js";
import { isToStart, matching, rowsOf } from "../../bridge/reference/packages/host/src/model/rows.js";
import { clock, count, explain, stepWords } from "../../bridge/reference/packages/host/src/model/words.js";
import type { PluginState } from "../../bridge/reference/packages/host/src/pageruntime.js";
import { connectedPage, openPage, refused, runs } from "./modelfixture.js";
import { Memory, noAnswer } from "./pagefixture.js";
import { equal, pending, quiet } from "../../clients/typescript/test/fakeenvironment.js";

const NEVER = (): boolean => false;
const ALWAYS = (): boolean => true;

function installed(id: string, more: Partial<ListEntry> = {}): ListEntry {
  const texts = { apiVersion: "^0.3.0", description: "", url: "", keyId: "", installedAt: "x" };
  const lists = { permissions: [], optionalPermissions: [], hosts: [], actions: [], events: [] };
  const about = { ...texts, ...lists, tags: [], dependencies: [] };
  return { ...about, id, name: id, version: "1.0.0", commit: "a".repeat(40), updatedAt: "x", ...more };
}

function entries(...plugins: ListEntry[]): readonly ListEntry[] {
  return entriesOf({ plugins, broken: [] });
}

/** What the daemon answers when these are behind. */
function outdated(...ids: string[]): object {
  const updates = ids.map((id) => ({ id, latest: "b".repeat(40) }));
  return { updates, unknown: [], pending: [] };
}

export const pageScenarios = {
  /** One reading that fails is in the log, and keeps nothing else from being read. */
  async what_cannot_be_read() {
    const { model, link, env } = openPage();
    const lines: string[] = [];
    model.log.recorded.listen(({ message }) => lines.push(message));
    link.refuses = "plugins/keys";
    link.stored.set("updates:checked", 1e15);
    link.answers.set("plugins/list", { plugins: [installed("aa")], broken: [] });
    link.answers.set("plugins/check_updates", { updates: [], unknown: [], pending: [] });
    link.become("connected");
    await quiet();
    await env.pass(5_000);
    equal([lines.length, lines[0]], [2, "not read: BridgeError: not now"]);
    equal([link.called("plugins/keys").length, link.called("plugins/check_updates").length], [2, 1]);
  },

  /** Short forms, SSH addresses and addresses of branches get a suggestion. */
  suggested_addresses() {
    const found = (written: string): string => suggestion(written)?.url ?? "";
    equal(found("ana/bio"), "https://github.com/ana/bio");
    equal(found(" git@gitlab.com:group/sub/bio.git "), "https://gitlab.com/group/sub/bio");
    equal(found("ssh://git@forge.example:22/ana/bio"), "https://forge.example/ana/bio");
    equal(found("http://forge.example/ana/bio"), "https://forge.example/ana/bio");
    equal(found("git://forge.example/ana/bio"), "https://forge.example/ana/bio");
    equal(found("github.com/ana/bio"), "https://github.com/ana/bio");
    equal(found("https://github.com/ana/bio/tree/main"), "https://github.com/ana/bio");
    equal(found("https://gitlab.com/a/b/-/tree/main/x"), "https://gitlab.com/a/b");
    const usable = ["https://github.com/ana/bio", "https://github.com/ana/bio.git", "", "bio", "a b"];
    equal(usable.map(found), ["", "", "", "", ""]);
    const branch = suggestion("https://github.com/ana/bio/blob/main/x.ts");
    equal(branch?.words, "Only a repository's default branch works.");
  },

  /** A repository is shown by host and path; only web addresses become links. */
  shown_addresses() {
    equal(hostAndPath("https://forge.example:1/ana/bio.git"), ["forge.example:1", "/ana/bio"]);
    equal(hostAndPath("nothing"), ["nothing", ""]);
    equal(["https://a.b", "http://a.b", "javascript:1", "file:///x", "https://"].map(openable), [
      "https://a.b",
      "http://a.b",
      "",
      "",
      "",
    ]);
  },

  /** Where the address names nothing, the start is shown, which then stays. */
  the_start() {
    for (const [stages, views] of [
      [["waiting", "starting", "running", "off"], "plugins plugins home home"],
      [["waiting", "off", "starting", "running"], "plugins plugins plugins plugins"],
    ] as const) {
      const { model, runtime } = openPage();
      const shown = stages.map((stage) => {
        runtime.states = [runs("some-one", { stage }), runs("other", { stage: "failed" })];
        runtime.changed.emit();
        return model.route.view;
      });
      equal(shown.join(" "), views);
    }
  },

  /** A route and its fragment are the same; anything else is none. */
  routes() {
    const all = ["#/home", "#/plugins", "#/plugins/some-one", "#/plugins/some-one/update", "#/log"];
    for (const fragment of all) {
      const route = readRoute(fragment);
      equal(route === undefined ? "" : fragmentOf(route), fragment);
    }
    const none = ["", "#", "#/", "#/nowhere", "#/plugins/A!", "#/plugins/x-y/z", "#/log/x", "#endpoint=x"];
    equal(none.filter((fragment) => readRoute(fragment) !== undefined), []);
  },

  /** Whatever is known of a plugin, it is listed once, with one state. */
  a_plugin_has_one_row() {
    const listed = entriesOf({
      plugins: [
        installed("changed-one", { version: "2.0.0" }),
        installed("left-out", { problem: "its files changed" }),
        installed("new-one"),
        installed("off-one"),
        installed("same-one"),
        installed("twice-installed"),
      ],
      broken: [
        { id: "left-out", reason: "its files changed" },
        { id: "gone-tree", reason: "its tree is gone" },
      ],
    });
    const compiled = [
      runs("changed-one"),
      runs("left-out"),
      runs("off-one", { stage: "off", enabled: false }),
      runs("removed-one"),
      runs("same-one"),
      runs("twice-installed", { stage: "removed" }),
    ];
    const rows = rowsOf(listed, compiled, NEVER, ALWAYS);
    equal(rows.map(({ id, status, reload }) => [id, status, reload]), [
      ["changed-one", "changed", true],
      ["gone-tree", "left-out", false],
      ["left-out", "left-out", false],
      ["new-one", "new", true],
      ["off-one", "off", false],
      ["removed-one", "removed", true],
      ["same-one", "running", false],
      ["twice-installed", "new", true],
    ]);
    const words = rows.find(({ id }) => id === "changed-one")?.words;
    equal(words, "1.0.0 is running; 2.0.0 starts after a reload.");
    equal(rows.find(({ id }) => id === "left-out")?.details, "its files changed");
    // One that was installed again may have the same version.
    const [again] = rowsOf(entries(installed("some-one")), [runs("some-one")], ALWAYS, ALWAYS);
    equal(again?.words, "1.0.0 is running; the changed one starts after a reload.");
  },

  /** Whose key signed a plugin is not known when its record is not listed. */
  async keys_of_what_is_installed() {
    const problem = "its files changed";
    const plugins = [
      installed("left-out", { problem }),
      installed("linked-one"),
      installed("signed-one", { keyId: "a-key", problem }),
    ];
    const { runtime } = await connectedPage(plugins);
    equal(runtime.listed, [
      { id: "left-out" },
      { id: "linked-one", keyId: "" },
      { id: "signed-one", keyId: "a-key" },
    ]);
  },

  /** Until the daemon lists the plugins, those of the bundle are shown. */
  rows_before_the_daemon_answered() {
    const rows = rowsOf(undefined, [runs("some-one"), runs("other", { stage: "waiting" })], NEVER, ALWAYS);
    equal(rows.map(({ status, reload }) => [status, reload]), [["waiting", false], ["running", false]]);
  },

  /** One that is silent, or held because all stopped, is shown as such. */
  plugins_that_do_not_answer() {
    const listed = entries(installed("some-one"), installed("other"));
    const compiled = [
      runs("some-one", { silent: true }),
      runs("other", { stage: "stopped", error: "it sent too much" }),
    ];
    const rows = rowsOf(listed, compiled, NEVER, ALWAYS);
    equal(rows.map(({ status, words }) => [status, words]), [
      ["stopped", "Stopped: it sent too much."],
      ["silent", "Doesn't answer. Turn it off to stop it."],
    ]);
    equal(rows.map(isToStart), [true, false]);
    // In safe mode the switch of the page starts them all.
    const safe = [
      runs("other", { stage: "suspended" }),
      runs("some-one", { stage: "stopped", enabled: false }),
    ];
    equal(rowsOf(listed, safe, NEVER, ALWAYS).map(isToStart), [false, false]);
    const [off] = rowsOf(listed.slice(0, 1), [], NEVER, NEVER);
    equal([off?.status, off?.enabled], ["off", false]);
  },

  /** The search finds words in any field; a tag leaves those that have it. */
  search_and_tags() {
    const plugins = [
      installed("bio-updater", { name: "Bio Updater", tags: ["profile"], author: "Ana" }),
      installed("patches", { description: "Fixes the library" }),
    ];
    const rows = rowsOf(entries(...plugins), [], NEVER, ALWAYS);
    const found = (search: string, tag = ""): string[] =>
      matching(rows, search, tag).map(({ id }) => id);
    equal(found(""), ["bio-updater", "patches"]);
    equal(found("ANA bio"), ["bio-updater"]);
    equal(found("library"), ["patches"]);
    equal(found("", "profile"), ["bio-updater"]);
    equal(found("library", "profile"), []);
  },

  /** An update gains whatever it declares beyond the installed version. */
  what_an_update_gains() {
    const kinds = ["permissions", "optionalPermissions", "hosts", "actions", "events"];
    const changes = (kind: string, gained: string[]): boolean => {
      const all = kinds.map((one) => [one, { gained: one === kind ? gained : [], lost: ["x"] }]);
      return gains(Object.fromEntries(all) as Preview["changes"]);
    };
    for (const kind of kinds) {
      equal([changes(kind, ["y"]), changes(kind, [])], [true, false]);
    }
    const signed = (keyId: string): boolean =>
      changesKey({ installed: { keyId }, key: { keyId: "b" } } as Preview);
    equal([signed("a"), signed("b"), signed("")], [true, false, false]);
  },

  /** Failures and steps are reported in plain words, with the rest as details. */
  failures_in_words() {
    const words = (message: string, code = "bad_request"): string =>
      explain(refused(message, code), "install").words;
    equal(words("denied: the prompt was dismissed"), "Not confirmed, so nothing changed.");
    equal(words("denied"), "Not confirmed, so nothing changed.");
    equal(words("unsigned: plugin.sig is missing"), "Not installed. It isn't properly signed: plugin.sig is missing.");
    equal(explain(refused("policy: main.ts:3"), "update").words, "Not updated. Its code breaks the safety rules: main.ts:3.");
    // The reason is in the first line; where there is more of it, all of it follows.
    const policy = explain(refused("policy:they say:\nmain.ts:3 eval\nmain.ts:4 eval"));
    equal(policy.words, "Nothing changed. Its code breaks the safety rules: main.ts:3 eval.");
    equal([policy.kind, policy.details], ["policy", "they say:\nmain.ts:3 eval\nmain.ts:4 eval"]);
    equal(explain(refused(`policy: ${"x".repeat(200)}`)).details.length, 200);
    equal(words("url: must start with https://"), "The bridge refused this: url: must start with https://.");
    equal(words("constructor: x"), "The bridge refused this: constructor: x.");
    equal(words("whatever", "internal").includes("log"), true);
    equal(words("whatever", "disconnected"), "Not connected. Nothing changed.");
    equal(explain(noAnswer()).words, "The bridge didn't answer in time. It may still be working on it.");
    equal(explain(new DOMException("x", "AbortError")).words, "Cancelled. Nothing changed.");
    equal(explain(new Error("oh")).words, "Something went wrong.");
    equal(explain("oh").details, "oh");
    equal([stepWords("clone"), stepWords("toString")], ["Downloading", "Working"]);
    equal([clock(118_000), clock(-5), clock(61_001)], ["1:58", "0:00", "1:02"]);
    equal([count(1, "update"), count(2, "update")], ["1 update", "2 updates"]);
  },

  /** Each state of the connection has its words, and each is announced once. */
  async connection_in_words() {
    const { model, link, said } = openPage();
    equal([model.mustConnect, model.standingWords], [true, "Connecting…"]);
    link.become("absent");
    equal([model.mustConnect, model.trouble], [true, ""]);
    link.become("connected");
    equal([model.mustConnect, model.mayOperate, said], [false, true, ["Connected."]]);
    link.become("stalled");
    equal([model.mayOperate, model.trouble, model.standingWords], [false, "stalled", "Not answering"]);
    link.become("waiting");
    link.become("detecting");
    equal([model.trouble, model.mustConnect], ["lost", false]);
    link.answers.set("plugins/install", new Promise(() => undefined));
    void model.operations.run("install", "x", {});
    equal(model.carriesOn, true);
    link.become("absent");
    equal([model.trouble, model.carriesOn], ["absent", false]);
    link.become("waiting");
    link.become("connected");
    equal(model.trouble, "");
    equal(said.slice(1), [
      "The bridge isn't answering. If this lasts, restart it.",
      "Connection lost. Trying again.",
      "The bridge isn't running. Start it, then try again.",
      "Connection lost. Trying again.",
      "Connected.",
    ]);
    link.become("unpaired", "rotated");
    equal(model.mustConnect, true);
    await quiet();
  },

  /** What the page has of one daemon does not come to another: the page is loaded again. */
  async another_daemon_is_another_page() {
    const { model, link, bar } = openPage();
    const { preferences } = model;
    model.pair("one");
    equal([link.state, bar.reloads], ["detecting", 0]);
    link.become("connected");
    link.become("unpaired", "refused");
    model.pair("other");
    equal([link.state, bar.reloads, preferences.token], ["unpaired", 1, "other"]);
    model.moveTo("http://127.0.0.1:6");
    equal(bar.fragment, "#endpoint=http%3A%2F%2F127.0.0.1%3A6");
    model.unpair();
    equal([link.state, bar.reloads], ["unpaired", 2]);
    const destination = { endpoint: "http://127.0.0.1:7", token: "" };
    for (const goes of [false, true]) {
      preferences.destination = destination;
      model.decide(goes);
      equal([preferences.endpoint === destination.endpoint, preferences.destination], [goes, undefined]);
    }
    equal(bar.reloads, 3);
    await quiet();
  },

  /** The stored token is used, once, where another is refused; not where a link has led the tab. */
  test_attack_link_that_unpairs_the_page() {
    const { model, link } = openPage();
    const { preferences } = model;
    link.pair("x".repeat(43));
    for (const [endpoint, ...states] of [
      ["http://127.0.0.1:6", "unpaired"],
      [link.endpoint, "detecting", "unpaired"],
    ] as const) {
      preferences.endpoint = endpoint;
      preferences.token = "the-right-one";
      for (const state of states) {
        link.become("unpaired", "refused");
        equal([link.state, link.token === preferences.token], [state, endpoint === link.endpoint]);
      }
    }
  },

  /** What was not answered in time is read again, though the connection stays. */
  async a_list_whose_answer_is_lost() {
    const { model, link, env } = await connectedPage();
    for (const method of ["plugins/list", "plugins/keys"]) {
      link.loses = method;
      const plugins = [installed(`after-${method.slice(8)}`)];
      link.answers.set("plugins/list", { plugins, broken: [] });
      link.answers.set("plugins/keys", { keys: plugins });
      link.push("plugins", { plugins: [] });
      await quiet();
      link.loses = "";
      await env.pass(5_000);
      equal([model.catalog.entries?.map(({ id }) => id), model.catalog.keys], [[plugins[0]?.["id"]], plugins]);
    }
  },

  /** A connection is followed by one reading; a stall is not. */
  async everything_is_read_after_each_connection() {
    const { link } = await connectedPage();
    const read = ["state/list", "plugins/operations", "plugins/list", "plugins/keys"];
    equal(link.asked.map((asked) => asked.split(" ")[0]), read);
    link.become("stalled");
    link.become("connected");
    await quiet();
    equal(link.asked.length, read.length);
    link.become("waiting");
    link.become("connected");
    await quiet();
    equal(link.asked.length, 2 * read.length);
  },

  /** Updates are looked for once a day, unless that is switched off. */
  async updates_are_looked_for_daily() {
    const fixture = openPage();
    const { link, env, model } = fixture;
    link.answers.set("plugins/list", { plugins: [installed("some-one")], broken: [] });
    link.answers.set("plugins/check_updates", outdated("some-one"));
    await env.pass(100_000_000);
    link.become("connected");
    await quiet();
    equal(link.called("plugins/check_updates").length, 1);
    equal([link.stored.get("updates:checked"), model.updateWords], [100_000_000, "1 update"]);
    const again = async (): Promise<number> => {
      link.become("waiting");
      link.become("connected");
      await quiet();
      return link.called("plugins/check_updates").length;
    };
    equal(await again(), 1);
    const day = 24 * 60 * 60 * 1000;
    // Also on a page that stays connected.
    await env.pass(day);
    equal(link.called("plugins/check_updates").length, 2);
    equal(await again(), 2);
    // The clock was ahead when another page looked for them.
    link.stored.set("updates:checked", env.now() + 9 * day);
    equal([await again(), link.stored.get("updates:checked")], [3, env.now()]);
    // Without a connection, there is no daemon to ask.
    link.become("waiting");
    await env.pass(day);
    equal(link.called("plugins/check_updates").length, 3);
    equal(await again(), 4);
    await model.state.setChecksDaily(false);
    await env.pass(day);
    equal(await again(), 4);
  },

  /** An update that is installed or skipped is no longer counted. */
  async updates_do_not_stay() {
    const { model, link, env } = await connectedPage([installed("some-one")]);
    await env.pass(1);
    link.answers.set("plugins/check_updates", outdated("some-one"));
    await model.catalog.check();
    equal(model.updateWords, "1 update");
    // What is looked at is newer than what was found before.
    const latest = "c".repeat(40);
    const updates = [{ id: "some-one", latest }];
    link.answers.set("plugins/check_updates", { updates, unknown: [], pending: [] });
    const preview = { commit: latest, manifest: { version: "1.2.0" } };
    equal(await model.skip("some-one", preview as Preview), true);
    await quiet();
    equal(model.updateWords, `Up to date (${clockOf(1)})`);
    await model.state.skip("some-one", "");
    equal(model.catalog.updates.length, 1);
    const plugins = [installed("some-one", { commit: latest })];
    link.answers.set("plugins/list", { plugins, broken: [] });
    link.push("plugins", {});
    await quiet();
    equal(model.catalog.updates.length, 0);
    const lists = { updates: [], unknown: [{ id: "some-one", reason: "x" }], pending: [] };
    link.answers.set("plugins/check_updates", lists);
    await model.catalog.check();
    equal(model.updateWords, "Not known for 1 plugin");
    equal(link.called("plugins/check_updates").at(-1), { fresh: true });
    link.answers.set("plugins/check_updates", { ...lists, unknown: [], pending: ["some-one"] });
    await model.catalog.check();
    equal(model.updateWords, "Not known for 1 plugin");
    link.answers.set("plugins/check_updates", { ...lists, unknown: [] });
    await env.pass(8000);
    equal(link.called("plugins/check_updates").at(-1), {});
    equal(model.updateWords, `Up to date (${clockOf(8001)})`);
    link.answers.set("plugins/check_updates", () => {
      throw refused("", "rate_limited");
    });
    await model.catalog.check();
    equal(model.updateWords, "Too much at once. Wait a moment, then try again.");
  },

  /** An install is pinned to the preview, remembered, followed and announced. */
  async an_install_in_steps() {
    const { model, link, said, session } = await connectedPage();
    const answer = pending<unknown>();
    link.answers.set("plugins/install", () => answer.promise);
    const manifest = installed("some-one", { name: "Some One" });
    const preview = { url: "https://a.example/x", commit: "c", digest: "d", manifest };
    const ended = model.install(preview as unknown as Preview);
    await quiet();
    equal(link.called("plugins/install"), [
      { url: "https://a.example/x", pin: { commit: "c", digest: "d" }, ref: "ref-1" },
    ]);
    const own = '[{"ref":"ref-1","name":"Some One"}]';
    equal(session.getItem("plugin-bridge.operations"), own);
    link.step({ step: "awaiting_confirmation" });
    const [task] = model.operations.tasks;
    equal([task?.name, task?.step, task?.cancellable], ["Some One", "awaiting_confirmation", true]);
    link.answers.set("plugins/list", { plugins: [manifest], broken: [] });
    answer.resolve({ plugin: manifest });
    const done = await ended;
    equal([done.outcome, done.id], ["done", "some-one"]);
    equal(said.at(-1), "Some One is installed. Reload to start it.");
    // Shown, so not shown again after a reload.
    equal(session.getItem("plugin-bridge.operations"), "[]");
    await quiet();
    equal(model.rows.map(({ status }) => status), ["new"]);
    equal(model.outcomeWords(done), "Some One is installed. Reload to start it.");
    // Somebody else removes it.
    link.answers.set("plugins/list", { plugins: [], broken: [] });
    await model.catalog.refresh();
    equal(model.outcomeWords(done), "Some One is installed.");
  },

  /** An operation that has ended is not under way again by an older list. */
  async a_list_that_comes_late() {
    const { model, link } = await connectedPage();
    const list = pending<unknown>();
    link.answers.set("plugins/operations", () => list.promise);
    const refreshed = model.operations.refresh();
    await model.operations.run("install", "x", { url: "https://a.b/c" });
    const entry = { operation: "1", op: "install", ref: "ref-1", step: "build" };
    list.resolve({ operations: [entry] });
    await refreshed;
    equal(model.operations.tasks.map(({ outcome, own }) => [outcome, own]), [["done", true]]);
    // Nor is one that was dismissed.
    model.operations.dismiss("ref-1");
    await model.operations.refresh();
    equal(model.operations.tasks, []);
  },

  /** After a lost connection, the page says when the daemon works on nothing any more. */
  async an_update_whose_daemon_ended() {
    const { model, link, said, env } = await connectedPage();
    link.answers.set("plugins/update", () => {
      throw noAnswer("disconnected");
    });
    const unknown = "!x: The connection was lost. The bridge may still be working on it.";
    const over = "!x: The connection was lost. The bridge isn't working on it any more.";
    // The daemon that was started again undoes it first.
    const undoing = { operation: "1", op: "update", id: "x", ref: null, step: "rollback" };
    link.answers.set("plugins/operations", { operations: [undoing] });
    equal((await model.update("x")).outcome, "refused");
    await quiet();
    equal(said, ["Connected.", unknown]);
    link.refuses = "plugins/operations";
    await env.pass(5_000);
    link.refuses = "";
    equal(said.length, 2);
    link.answers.set("plugins/operations", { operations: [{ ...undoing, outcome: "refused" }] });
    await model.operations.refresh();
    equal(said.slice(2), [over]);
    equal(model.operations.tasks.map((task) => `!${model.outcomeWords(task)}`), [over]);
    await model.operations.refresh();
    equal(said.length, 3);
  },

  /** Cancelling names the daemon's operation, once that is known, and may come too late. */
  async a_cancelled_operation() {
    const { model, link } = await connectedPage();
    const answer = pending<unknown>();
    link.answers.set("plugins/update", () => answer.promise);
    const ended = model.update("some-one");
    await quiet();
    equal((await model.operations.cancel("ref-1")) === undefined, true);
    equal(link.called("plugins/cancel"), []);
    link.step({ operation: "7", step: "clone" });
    link.refuses = "plugins/cancel";
    await model.operations.cancel("ref-1");
    equal(model.operations.tasks[0]?.cancellable, true);
    link.refuses = "";
    link.answers.set("plugins/cancel", () => {
      throw refused("not_cancellable: it commits already");
    });
    equal((await model.operations.cancel("ref-1"))?.words, "Finishing; too late to cancel.");
    equal(model.operations.tasks.map(({ cancelling, cancellable }) => [cancelling, cancellable]), [
      [false, false],
    ]);
    link.answers.delete("plugins/cancel");
    await model.operations.cancel("ref-1");
    equal(link.called("plugins/cancel").at(-1), { operation: "7" });
    equal(model.operations.tasks[0]?.cancelling, true);
    answer.reject(refused("cancelled: it was cancelled"));
    equal((await ended).outcome, "cancelled");
  },

  /** What went on while the page was not connected, or not paired, ends as the daemon says. */
  async an_update_that_outlives_the_connection() {
    for (const last of ["done", "refused"]) {
      const { model, link, env, said } = await connectedPage([installed("some-one")]);
      link.answers.set("plugins/update", () => {
        throw noAnswer("disconnected");
      });
      await model.update("some-one");
      const entry = { operation: "1", op: "update", id: "some-one", ref: "ref-1", step: "clone" };
      link.answers.set("plugins/operations", { operations: [entry] });
      link.become("unpaired", "rotated");
      link.become("connected");
      await quiet();
      equal(model.operations.tasks.map(({ outcome }) => outcome), [""]);
      const error = { code: "bad_request", message: "denied: the user declined" };
      const result = last === "done" ? { result: { plugin: installed("some-one") } } : { error };
      link.answers.set("plugins/operations", { operations: [{ ...entry, outcome: last, ...result }] });
      await env.pass(5_000);
      equal(model.operations.tasks.map(({ outcome }) => outcome), [last]);
      equal(said.at(-1)?.includes(last === "done" ? "is updated." : "Not confirmed"), true);
    }
  },

  /** After a reload, the page shows its own operation and how it ends. */
  async an_install_found_again_after_a_reload() {
    const fixture = openPage();
    const { link, model, session, said, env } = fixture;
    session.setItem("plugin-bridge.operations", '[{"ref":"mine","name":"Some One"}]');
    const entry = { operation: "1", op: "install", id: null, ref: "mine", step: "clone", cancellable: true };
    const foreign = { ...entry, operation: "2", ref: "theirs", op: "update", id: "other" };
    link.answers.set("plugins/operations", { operations: [entry, foreign] });
    link.become("connected");
    await quiet();
    equal(model.operations.tasks.map(({ ref, own, name }) => [ref, own, name]), [
      ["mine", true, "Some One"],
      ["theirs", false, ""],
    ]);
    // It was not answered, which says nothing of them.
    link.refuses = "plugins/operations";
    await env.pass(5_000);
    equal(model.operations.tasks.map(({ ref }) => ref), ["mine", "theirs"]);
    link.refuses = "";
    const ended = {
      ...entry,
      outcome: "refused",
      error: { code: "bad_request", message: "denied: the user declined" },
    };
    const operations = [ended, { ...foreign, outcome: "done", result: {} }];
    link.answers.set("plugins/operations", { operations });
    await env.pass(5_000);
    const tasks = model.operations.tasks.filter(({ own }) => own);
    equal(tasks.map(({ outcome, problem }) => [outcome, problem?.kind]), [["refused", "denied"]]);
    equal(said.at(-1), "!Some One: Not confirmed, so nothing changed.");
    equal(session.getItem("plugin-bridge.operations"), "[]");
    model.operations.dismiss("mine");
    equal(model.operations.tasks, []);
  },

  /** Those of other pages are shown while they run; previews are not. */
  async operations_of_other_pages() {
    const { link, model, env } = await connectedPage();
    const step = { operation: "9", op: "update", id: "other", ref: null, step: "clone" };
    link.answers.set("plugins/operations", { operations: [{ ...step, cancellable: true }] });
    link.push("progress", { ...step, cancellable: true });
    await quiet();
    equal(model.operations.tasks.map(({ own, id }) => [own, id]), [[false, "other"]]);
    const preview = { ...step, operation: "10", op: "preview", id: null, cancellable: true };
    link.push("progress", preview);
    equal(model.operations.tasks.length, 1);
    const operations = [preview, step, { ...preview, operation: "11", op: "reach_host" }];
    link.answers.set("plugins/operations", { operations });
    await model.operations.refresh();
    equal(model.operations.tasks.map(({ ref }) => ref), ["9"]);
    // It ends shortly after its build.
    link.push("build", { ok: true, errors: [] });
    await env.pass(100);
    link.answers.set("plugins/operations", { operations: [] });
    await env.pass(400);
    equal(model.operations.tasks, []);
  },

  /** A removal is followed by its name, until it is done; builds are none. */
  async a_removal() {
    const { link, model, runtime } = await connectedPage([installed("some-one")]);
    const answer = pending<unknown>();
    link.answers.set("plugins/uninstall", () => answer.promise);
    const ended = model.uninstall("some-one");
    await quiet();
    equal(link.called("plugins/uninstall"), [{ id: "some-one", ref: "ref-1" }]);
    const step = { operation: "3", op: "uninstall", id: "some-one", ref: "ref-1", cancellable: true };
    link.push("progress", { ...step, step: "awaiting_confirmation" });
    link.push("progress", { ...step, operation: "4", op: "build", id: null, ref: "ref-2" });
    await quiet();
    equal(model.operations.tasks.map(({ operation, step: now }) => [operation, now]), [
      ["3", "awaiting_confirmation"],
    ]);
    equal(runtime.listed, [{ id: "some-one", keyId: "" }]);
    link.answers.delete("plugins/list");
    answer.resolve({});
    await ended;
    await quiet();
    equal(runtime.listed, []);
  },

  /** A failure does not keep the other updates from being made. */
  async update_all_goes_on() {
    const plugins = ["one-x", "two-x", "three-x"].map((id) => installed(id));
    const { model, link, said, bar } = await connectedPage(plugins);
    link.answers.set("plugins/check_updates", outdated("one-x", "two-x", "three-x"));
    await model.catalog.check();
    link.answers.set("plugins/update", ({ id }: { readonly id: string }) => {
      if (id !== "three-x") {
        throw refused(id === "one-x" ? "denied: no" : "policy: eval");
      }
      return {};
    });
    await model.updateAll();
    equal(link.called("plugins/update").map((params) => (params as { id: string }).id), [
      "one-x",
      "two-x",
      "three-x",
    ]);
    equal(said.at(-1), "1 updated, 2 failed.");
    equal(bar.fragment, "#/plugins/one-x");
    // The first of them on top.
    equal(model.operations.tasks.map((task) => model.outcomeWords(task)), [
      "two-x: Not updated. Its code breaks the safety rules: eval.",
      "one-x: Not confirmed, so nothing changed.",
    ]);
    // Who has left meanwhile is not moved.
    await model.navigation.follow();
    const again = model.updateAll();
    bar.fragment = "#/log";
    await model.navigation.follow();
    await again;
    equal([bar.fragment, said.at(-1)], ["#/log", "1 updated, 2 failed."]);
    // Who cancels one is not asked about the next.
    const before = link.called("plugins/update").length;
    link.answers.set("plugins/update", () => Promise.reject(refused("cancelled: by the user")));
    await model.updateAll();
    equal([link.called("plugins/update").length, said.at(-1)], [before + 1, "0 updated, 3 not."]);
  },

  /** A switch that could not be saved is shown and announced, and where it stands. */
  async a_switch_that_is_not_saved() {
    const { model, runtime, said } = await connectedPage([installed("some-one")]);
    runtime.saves = false;
    await model.setEnabled("some-one", false);
    const words = "Couldn't save. some-one is still on.";
    equal([said.at(-1), model.failure], [`!${words}`, words]);
    model.dismissFailure();
    equal(model.failure, "");
    await model.setEnabled("some-one", false);
    equal(model.failure, words);
    model.navigation.go({ view: "log" });
    await model.navigation.follow();
    equal(model.failure, "");
    await model.setEnabled("some-one", false);
    runtime.saves = true;
    await model.setEnabled("some-one", false);
    equal([said.at(-1), model.failure], ["some-one is off.", ""]);
  },

  /** What a reload is of use for is said of what waits for it. */
  async what_a_reload_does() {
    const listed = (...ids: string[]): ListEntry[] => ids.map((id) => installed(id));
    const words = async (plugins: ListEntry[], ...states: PluginState[]): Promise<string> =>
      (await connectedPage(plugins, states)).model.reloadWords;
    equal(await words(listed("a-x"), runs("a-x")), "");
    equal(await words(listed("a-x")), "Reload to start a-x.");
    equal(await words(listed("a-x", "b-x")), "Reload to start 2 plugins.");
    equal(await words([], runs("a-x")), "Reload to finish removing a-x.");
    equal(await words(listed("a-x"), runs("a-x", { version: "0.9.0" })), "Reload to bring a-x up to date.");
    const { model, link } = await connectedPage();
    link.push("build", { ok: false, errors: ["no"] });
    equal([model.buildErrors, model.reloadWords], [["no"], ""]);
    link.push("build", { ok: true, errors: [] });
    equal([model.buildErrors, model.reloadWords], [[], "The page was rebuilt. Reload to use it."]);
  },

  /** Plugins are listed in natural order, and equal names with their ids. */
  async names_of_plugins() {
    const names = ["Bio 10", "Bio 2", "Host", "Twin", "twin!"];
    const plugins = names.map((name, n) => installed(`id-${n}`, { name }));
    const { model } = await connectedPage(plugins);
    // In the order that people count.
    equal(
      model.rows.map(({ name }) => name),
      ["Bio 2", "Bio 10", "Host (id-2)", "Twin (id-3)", "twin! (id-4)"],
    );
    equal(model.nameOfNew({ id: "new-one", name: "BIO 2" }), "BIO 2 (new-one)");
    equal(model.nameOfNew({ id: "id-1", name: "Bio 2" }), "Bio 2");
    equal(model.nameOfTask({ id: "", name: " x " }), "x");
  },

  /** The log has the newest lines of the page before. */
  async lines_from_before_a_reload() {
    const session = new Memory();
    const before = openPage(session).model;
    before.log.add("warn", "bio", "of before");
    before.logBuffer.keep();
    const { model } = openPage(session);
    model.log.add("info", "host", "of now");
    equal(model.logBuffer.lines.map(({ number, message, level }) => [number, message, level]), [
      [1, "of before", "warn"],
      [2, "of now", "info"],
    ]);
    for (const broken of ["", "{", "7", '[7, {"ts": "x"}]']) {
      session.setItem("plugin-bridge.log", broken);
      equal(openPage(session).model.logBuffer.lines.every(({ ts }) => ts === 0), true);
    }
    session.setItem = () => {
      throw new Error("full");
    };
    model.logBuffer.keep();
  },

  /** What one plugin logs pushes no line of another out, nor over a reload. */
  test_attack_flood_of_lines() {
    const session = new Memory();
    const { log, logBuffer } = openPage(session).model;
    const ofMost = (lines: readonly { scope: string }[]): [string | undefined, number] =>
      [lines[0]?.scope, lines.length];
    log.add("error", "bio", "important");
    Array.from({ length: 5_000 }, (_, n) => log.add("info", n % 3 ? "loud" : "noisy", `${n}`));
    equal(ofMost(logBuffer.lines), ["bio", 500]);
    equal(logBuffer.lines.at(-1)?.message, "4999");
    logBuffer.keep();
    equal(ofMost(openPage(session).model.logBuffer.lines), ["bio", 200]);
    Array.from({ length: 600 }, (_, n) => log.add("info", `scope-${n}`, ""));
    equal(ofMost(logBuffer.lines), ["scope-100", 500]);
  },

  /** Unsaved settings are left only after a question. */
  async unsaved_changes_hold_the_page() {
    const { model, bar } = await connectedPage();
    const { navigation } = model;
    const go = async (fragment: string): Promise<string> => {
      bar.fragment = fragment;
      await navigation.follow();
      return bar.fragment;
    };
    equal(await go("#/plugins/some-one/settings"), "#/plugins/some-one/settings");
    let leaves = false;
    navigation.guard(() => Promise.resolve(leaves));
    equal(await go("#/home"), "#/plugins/some-one/settings");
    await model.reload();
    equal([bar.reloads, navigation.isGuarded], [0, true]);
    leaves = true;
    await model.reload();
    equal([bar.reloads, navigation.isGuarded], [1, false]);
    equal(await go("#/home"), "#/home");
    equal(navigation.route, { view: "home" });
    leaves = false;
    equal(await go("#/log"), "#/log");
  },

  /** The log is filtered by level, scope and words. */
  log_filter() {
    const lines = [
      { number: 1, level: "debug" as const, scope: "host", message: "one", ts: 0 },
      { number: 2, level: "warn" as const, scope: "bio", message: "Two", ts: 0 },
      { number: 3, level: "error" as const, scope: "bridge", message: "three", ts: 0 },
    ];
    const found = (filter: object): number[] =>
      filtered(lines, { level: "debug", scope: "", search: "", ...filter }).map((line) => line.number);
    equal(found({}), [1, 2, 3]);
    equal(found({ level: "warn" }), [2, 3]);
    equal(found({ scope: "bio" }), [2]);
    equal(found({ search: "TWO" }), [2]);
  },

  /** Each line that is copied begins with the page's own words. */
  test_attack_line_of_another_scope() {
    const line = { number: 1, level: "info" as const, scope: "evil", message: "a\r\nb\u2028c", ts: 0 };
    equal(lineText(line), "1970-01-01T00:00:00.000Z info evil a\n    b\n    c");
  },

  /** The report has no token, path of an address or home directory. */
  diagnostics_hold_no_secrets() {
    const token = "8dTj5DPWSET2KLYtb9ii-0xPbHCmjBnxh5_bgCa9oLg";
    const message = `GET https://me:pw@api.example/v1/secret?key=1 from /home/ana/x with ${token}`;
    const text = diagnostics({
      daemon: "1.2.3",
      api: "0.1.0",
      browser: "a browser",
      state: "connected",
      closes: ["1006"],
      rows: rowsOf(entries(installed("some-one")), [], NEVER, ALWAYS),
      targets: [{ name: "overlay", health: "up" }],
      lines: [{ number: 1, level: "warn", scope: "bio", message, ts: 0 }],
    });
    for (const secret of ["secret", "pw", "ana", token]) {
      equal(text.includes(secret), false);
    }
    for (const known of ["daemon 1.2.3", "api.example", "some-one 1.0.0 new", "overlay up", "1006"]) {
      equal(text.includes(known), true);
    }
    for (const path of ["read /home/ana", "path:/home/ana/x", "file:///home/ana/x", "C:\\Users\\ana"]) {
      equal(redacted(path).includes("ana"), false);
    }
    equal(redacted("a".repeat(40)), "a".repeat(40));
    // Nor does it take long, whatever a plugin writes.
    const began = performance.now();
    redacted(`${"a-".repeat(50_000)} ${"/".repeat(100_000)}`);
    equal(performance.now() - began < 1_500, true);
  },
};

function clockOf(at: number): string {
  return new Date(at).toTimeString().slice(0, 5);
}
