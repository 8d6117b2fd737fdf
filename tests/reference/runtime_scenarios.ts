/** Starting plugins, their switches, safe mode, and what the views read of them. */

import { BridgeError, type Plugin } from "@bridge/plugin-api";

import { riskyFirst, useOf } from "../../bridge/reference/packages/host/src/permissionwords.js";
import type { Entry } from "../../bridge/reference/packages/host/src/plugins.js";
import { Daemon, KEY, connected, entry, fixture, noAnswer, stages } from "./pagefixture.js";
import { foreignText, textOf } from "./realmfixture.js";
import { equal, failure, pending, quiet } from "../../clients/typescript/test/fakeenvironment.js";

function fail(): never {
  throw new Error("no luck");
}

const nothing = (): void => undefined;

function noting(id: string, events: string[], more: Partial<Plugin> = {}): Entry {
  return {
    manifest: { id, name: id, version: "1.0.0" },
    text: textOf(() => {
      events.push(`load ${id}`);
      const activate = (): void => void events.push(`activate ${id}`);
      return { id, activate, ...more };
    }),
  };
}

export const runtimeScenarios = {
  /** One that fails, or throws while it is loaded, stops no other. */
  async plugins_are_isolated() {
    const started: string[] = [];
    const table: Entry[] = [
      entry("bad-one", { activate: fail }),
      {
        manifest: { id: "throws-early" },
        text: textOf(() => {
          throw new Error("at the top");
        }),
      },
      entry("good-one", { activate: () => void started.push("good-one") }),
      entry("good-one", { activate: fail }),
      { manifest: { id: "no-code" }, text: textOf(() => undefined) },
      { manifest: { id: "other-id" }, text: textOf(() => ({ id: "x" })) },
      entry("bad-schema", { settings: { a: { type: "number" } } as never, activate: nothing }),
      { manifest: null },
    ];
    const page = await connected(table);
    page.daemon.opened.emit();
    await quiet();
    equal(started, ["good-one"]);
    equal(stages(page), [
      "bad-one failed",
      "throws-early failed",
      "good-one running",
      "no-code failed",
      "other-id failed",
      "bad-schema failed",
    ]);
    const errors = page.runtime.plugins().map(({ error }) => error);
    equal(errors, [
      "Error: no luck",
      "Error: at the top",
      "",
      "Error: main.ts exports no plugin with the manifest's id and activate",
      "Error: main.ts exports no plugin with the manifest's id and activate",
      "RangeError: settings.a.label: text of at most 80 characters",
    ]);
    // Nothing of those that failed is left.
    equal(page.realms.started.map(({ hasEnded }) => hasEnded), [true, true, false, true, true, true]);
  },

  /** A module that is a promise without an end fails alone. */
  async test_attack_module_that_never_loads() {
    const events: string[] = [];
    const page = await connected([
      { manifest: { id: "endless" }, text: foreignText(nothing) },
      { manifest: { id: "endless-too" }, text: foreignText(nothing) },
      noting("good-one", events),
    ]);
    equal(stages(page), ["endless starting", "endless-too starting", "good-one running"]);
    // Nor does one that does not parse, which only its worker says.
    const failure = { message: "Uncaught SyntaxError: no luck", line: 0, column: 0 };
    page.realms.started[1]?.failed.emit(failure);
    await quiet();
    equal(stages(page), ["endless starting", "endless-too failed", "good-one running"]);
    // A machine may be as slow next to a game.
    await page.env.pass(25_000);
    equal(stages(page), ["endless starting", "endless-too failed", "good-one running"]);
    await page.env.pass(5_000);
    equal(stages(page), ["endless failed", "endless-too failed", "good-one running"]);
    equal(page.runtime.plugins()[0]?.error, "it did not load in time");
    equal(page.runtime.plugins()[1]?.error, "SyntaxError: no luck");
    page.realms.started[2]?.failed.emit({ message: "Uncaught Error: later", line: 0, column: 0 });
    equal(page.lines.at(-1), "good-one: was stopped: Error: later");
    equal(page.realms.started.map(({ hasEnded }) => hasEnded), [true, true, true]);
  },

  /** A daemon that did not answer for a moment keeps no plugin from starting. */
  async settings_that_could_not_be_read_once() {
    const daemon = new Daemon();
    let slow = "plugin:some-plugin";
    const { call } = daemon;
    daemon.call = ((method: string, params: { ns: string }) => {
      daemon.refuses = params.ns === slow ? method : "";
      return call(method as never, params as never);
    }) as Daemon["call"];
    const page = await connected([noting("some-plugin", [])], { daemon });
    equal(stages(page), ["some-plugin waiting"]);
    // Without a connection, nothing is asked; the next one starts it.
    daemon.isOpen = false;
    const asked = daemon.asked.length;
    await page.env.pass(60_000);
    equal(daemon.asked.length, asked);
    daemon.isOpen = true;
    daemon.opened.emit();
    await quiet();
    equal(stages(page), ["some-plugin waiting"]);
    // Not before the switches are known, which may have moved meanwhile.
    slow = "host";
    daemon.opened.emit();
    await quiet();
    await page.env.pass(5_000);
    equal(stages(page), ["some-plugin waiting"]);
    slow = "";
    await page.env.pass(5_000);
    equal(stages(page), ["some-plugin running"]);
  },

  /** However many plugins a daemon refuses at once, it is asked for each again at times. */
  async settings_of_many_that_are_refused() {
    const daemon = new Daemon();
    const ids = Array.from({ length: 12 }, (_, n) => `plugin-${n}`);
    const page = fixture(ids.map((id) => noting(id, [])), { daemon });
    let reads = 0;
    daemon.call = ((_: string, params: { ns: string }) => {
      if (params.ns === "host") {
        return Promise.resolve({ entries: {} });
      }
      reads += 1;
      return new Promise((_, reject) => page.env.later(2, () => reject(new Error("not now"))));
    }) as Daemon["call"];
    daemon.opened.emit();
    await page.env.pass(26_000);
    equal(reads, 12 * 6);
  },

  /** A plugin whose settings can't be read starts with the next connection or list. */
  async plugin_waits_for_its_settings() {
    const daemon = new Daemon();
    const events: string[] = [];
    const page = fixture([noting("some-plugin", events)], { daemon });
    let lists = 0;
    const { call } = daemon;
    daemon.call = (method, ...rest) => {
      lists += method === "state/list" ? 1 : 0;
      daemon.refuses = lists === 2 ? "state/list" : "";
      return call(method, ...rest);
    };
    daemon.opened.emit();
    await quiet();
    equal([stages(page), events], [["some-plugin waiting"], []]);
    daemon.opened.emit();
    await quiet();
    equal([stages(page), page.runtime.plugins()[0]?.error], [["some-plugin running"], ""]);
    // Or once the daemon answers again.
    daemon.refuses = "state/list";
    daemon.call = call;
    const slow = await connected([noting("some-plugin", events)], { daemon });
    equal(stages(slow), ["some-plugin waiting"]);
    daemon.refuses = "";
    await slow.runtime.installed([{ id: "some-plugin", keyId: KEY }]);
    await quiet();
    equal(stages(slow), ["some-plugin running"]);
  },

  /** What depends on a plugin waits for its second start, when its first read nothing. */
  async plugin_waits_for_the_settings_of_another() {
    const daemon = new Daemon();
    let isRefused = true;
    daemon.answers.set("state/list", ({ ns }: { ns: string }) => {
      if (isRefused && ns === "plugin:below") {
        throw new BridgeError("unavailable", "not now");
      }
      return { entries: {} };
    });
    let goOn = nothing;
    const activate = (): Promise<void> => new Promise((resolve) => (goOn = resolve));
    const above = entry("above", { activate: nothing }, { dependencies: ["below"] });
    const page = await connected([above, entry("below", { activate })], { daemon });
    equal(stages(page), ["above starting", "below waiting"]);
    isRefused = false;
    daemon.opened.emit();
    await page.env.pass(5_000);
    equal(stages(page), ["above starting", "below starting"]);
    goOn();
    await quiet();
    equal(stages(page), ["above running", "below running"]);
  },

  /** Settings that come late start a plugin once, and one that was uninstalled not at all. */
  async settings_that_come_late() {
    const daemon = new Daemon();
    let isLate = false;
    daemon.answers.set("state/list", ({ ns }: { ns: string }) => {
      if (ns === "plugin:gone" || (ns === "plugin:late" && !isLate)) {
        throw new BridgeError("unavailable", "not now");
      }
      if (ns === "plugin:late") {
        void page.runtime.installed([{ id: "late", keyId: KEY }]);
      }
      return { entries: {} };
    });
    const events: string[] = [];
    const activate = (): Promise<void> => new Promise(nothing);
    const table = [noting("late", events, { activate }), noting("gone", events)];
    const page = await connected(table, { daemon });
    equal(stages(page), ["late waiting", "gone waiting"]);
    isLate = true;
    await page.env.pass(5_000);
    daemon.opened.emit();
    await quiet();
    equal([stages(page), events], [["late starting", "gone removed"], ["load late"]]);
  },

  /** No plugin starts before the switches are known. */
  async unknown_switches_start_nothing() {
    const daemon = new Daemon();
    const events: string[] = [];
    daemon.refuses = "state/list";
    const page = await connected([noting("some-plugin", events)], { daemon });
    equal([stages(page), events], [["some-plugin waiting"], []]);
    // Not even when safe mode is left.
    const safe = await connected([noting("some-plugin", events)], { daemon, safe: true });
    safe.runtime.leaveSafeMode();
    await quiet();
    equal([stages(safe), events], [["some-plugin waiting"], []]);
    daemon.refuses = "";
    await safe.env.pass(5_000);
    equal(stages(safe), ["some-plugin running"]);
  },

  /** A plugin that is off is not evaluated until it is switched on. */
  async disabled_plugin_is_not_evaluated() {
    const daemon = new Daemon();
    daemon.stored.set("enabled:off-one", false);
    // Only `false` means off.
    daemon.stored.set("enabled:on-one", 0);
    const events: string[] = [];
    const page = await connected([noting("off-one", events), noting("on-one", events)], {
      daemon,
    });
    equal(events, ["load on-one", "activate on-one"]);
    equal(stages(page), ["off-one off", "on-one running"]);
    equal(page.runtime.plugins().map(({ enabled }) => enabled), [false, true]);
    equal(page.runtime.settingsSchema("off-one") === undefined, true);
    await page.runtime.setEnabled("off-one", true);
    equal(events.slice(2), ["load off-one", "activate off-one"]);
    equal(daemon.stored.has("enabled:off-one"), false);
  },

  /** A plugin with `deactivate` stops at once, and its context with it. */
  async switched_off_at_once() {
    const events: string[] = [];
    let kept: (() => Promise<unknown>) | undefined;
    const page = await connected([
      noting("some-plugin", events, {
        activate: (ctx) => {
          events.push("activate");
          ctx.ui.card("A card");
          kept = () => ctx.sql.databases();
        },
        deactivate: () => void events.push("deactivate"),
      }),
    ]);
    equal([...page.cards], ["some-plugin"]);
    await page.runtime.setEnabled("some-plugin", false);
    equal(page.daemon.stored.get("enabled:some-plugin"), false);
    equal([stages(page), [...page.cards]], [["some-plugin off"], []]);
    // What it kept of its context is of no use any more.
    page.daemon.asked.length = 0;
    kept?.().catch(nothing);
    await quiet();
    equal(page.daemon.asked, []);
    equal(page.realms.started.map(({ hasEnded }) => hasEnded), [true]);
    await page.runtime.setEnabled("some-plugin", true);
    // Each time in a realm of its own.
    const start = ["load some-plugin", "activate"];
    equal(events, [...start, "deactivate", ...start]);
  },

  /** A plugin that fails to stop, or never ends, cannot start again. */
  async deactivate_that_fails() {
    const never = new Promise<void>(nothing);
    for (const deactivate of [undefined, fail, () => never]) {
      const page = await connected([
        noting("some-plugin", [], deactivate === undefined ? {} : { deactivate }),
      ]);
      const switched = page.runtime.setEnabled("some-plugin", false);
      await quiet();
      await page.env.pass(1_000);
      await switched;
      equal(stages(page), ["some-plugin off"]);
      equal(page.realms.started.map(({ hasEnded }) => hasEnded), [true]);
      equal(page.lines.some((line) => line.includes("failed to stop")), deactivate !== undefined);
      await page.runtime.setEnabled("some-plugin", true);
      equal(stages(page), ["some-plugin running"]);
    }
  },

  /** A plugin that is on again when it has stopped starts again. */
  async switched_on_while_it_stops() {
    const slow = pending();
    const page = await connected([noting("some-plugin", [], { deactivate: () => slow.promise })]);
    const off = page.runtime.setEnabled("some-plugin", false);
    await quiet();
    const on = page.runtime.setEnabled("some-plugin", true);
    await quiet();
    slow.resolve();
    await Promise.all([off, on]);
    equal([stages(page), page.state.isOn("some-plugin")], [["some-plugin running"], true]);
  },

  /** A switch that cannot be saved does not move. */
  async switch_that_is_not_saved() {
    const page = await connected([noting("some-plugin", [], { deactivate: nothing })]);
    page.daemon.refuses = "state/set";
    equal((await failure(page.runtime.setEnabled("some-plugin", false))).message, "not now");
    equal([stages(page), page.state.isOn("some-plugin")], [["some-plugin running"], true]);
  },

  /** Until the daemon says what it has, a change that was not answered counts neither way. */
  async switch_on_a_daemon_that_hangs() {
    for (const isSaved of [true, false]) {
      const page = await connected([noting("some-plugin", [], { deactivate: nothing })]);
      const { call } = page.daemon;
      const never = (): Promise<never> => Promise.reject(noAnswer());
      page.daemon.call = never;
      let outcome: boolean | undefined;
      const end = (saved: boolean) => () => void (outcome = saved);
      page.runtime.setEnabled("some-plugin", false).then(end(true), end(false));
      await page.env.pass(60_000);
      equal([stages(page), outcome], [["some-plugin running"], undefined]);
      if (isSaved) {
        page.daemon.stored.set("enabled:some-plugin", false);
      }
      page.daemon.call = call;
      await page.env.pass(5_000);
      equal([stages(page), outcome], [[`some-plugin ${isSaved ? "off" : "running"}`], isSaved]);
    }
  },

  /** What another page has switched is so here, too, once that is read. */
  async switched_in_another_page() {
    const events: string[] = [];
    const page = await connected([noting("some-plugin", events, { deactivate: nothing })]);
    page.daemon.stored.set("enabled:some-plugin", false);
    await page.state.refresh();
    await quiet();
    equal(stages(page), ["some-plugin off"]);
    page.daemon.stored.delete("enabled:some-plugin");
    await page.state.refresh();
    await quiet();
    equal(stages(page), ["some-plugin running"]);
    equal(events.length, 4);
  },

  /** Another page switched it on again while it stopped here. */
  async switched_on_in_another_page_while_it_stops() {
    const deactivate = (): Promise<void> => new Promise(nothing);
    const page = await connected([noting("some-plugin", [], { deactivate })]);
    page.daemon.stored.set("enabled:some-plugin", false);
    await page.state.refresh();
    page.daemon.stored.delete("enabled:some-plugin");
    await page.state.refresh();
    await page.env.pass(1_000);
    equal(stages(page), ["some-plugin running"]);
  },

  /** A tab without a bridge, while another saves a lot, reads once when there is one. */
  async what_another_page_saved_while_the_daemon_was_away() {
    const page = await connected([]);
    const { call } = page.daemon;
    page.daemon.call = () => Promise.reject(new Error("no answer"));
    const readings = Array.from({ length: 20 }, () => page.state.refresh());
    await page.env.pass(60_000);
    let calls = 0;
    page.daemon.call = (...words) => {
      calls += 1;
      return call.apply(page.daemon, words);
    };
    await page.env.pass(5_000);
    await Promise.all(readings);
    equal(calls, 1);
  },

  /** What was installed again is other code than that of this page, which is not started. */
  async test_attack_switch_of_a_plugin_installed_again() {
    const events: string[] = [];
    const page = await connected([noting("some-plugin", events)]);
    const again = [{ id: "some-plugin", keyId: "another-key" }];
    await page.runtime.installed([]);
    await page.runtime.installed(again);
    await page.runtime.setEnabled("some-plugin", false);
    await page.runtime.setEnabled("some-plugin", true);
    equal([stages(page), events.length], [["some-plugin removed"], 2]);
  },

  /** A plugin that is slow to start delays no other, and can be switched off meanwhile. */
  async switched_off_while_it_starts() {
    const events: string[] = [];
    const page = await connected([
      noting("some-plugin", events, {
        activate: () => new Promise(nothing),
        deactivate: () => void events.push("deactivate"),
      }),
      { manifest: { id: "endless" }, text: foreignText(nothing) },
      noting("quick-one", []),
    ]);
    equal(stages(page), ["some-plugin starting", "endless starting", "quick-one running"]);
    await page.runtime.setEnabled("some-plugin", false);
    await page.runtime.setEnabled("endless", false);
    equal(stages(page), ["some-plugin off", "endless off", "quick-one running"]);
    equal(events.at(-1), "deactivate");
    equal(page.realms.started.map(({ hasEnded }) => hasEnded), [true, true, false]);
  },

  /** One that is switched off before its turn has no worker. */
  async switched_off_before_its_turn() {
    const ids = ["aa", "bb", "cc", "dd"];
    const endless = ids.map((id) => ({ manifest: { id }, text: foreignText(nothing) }));
    const page = await connected([...endless, noting("late-one", [])]);
    await page.runtime.setEnabled("late-one", false);
    await page.env.pass(30_000);
    equal([stages(page).at(-1), page.realms.started.length], ["late-one off", 4]);
  },

  /** A plugin starts after those it depends on, or not at all. */
  async dependencies_start_first() {
    const daemon = new Daemon();
    daemon.stored.set("enabled:off-one", false);
    const events: string[] = [];
    const after = (id: string, ...dependencies: string[]): Entry => {
      const plugin = noting(id, events);
      return { ...plugin, manifest: { ...(plugin.manifest as object), dependencies } };
    };
    const table = [
      after("third", "second", "first"),
      after("second", "first"),
      after("lonely", "absent"),
      after("waits", "off-one"),
      after("one", "other"),
      after("other", "one"),
      after("victim", "one"),
      after("first"),
      after("off-one"),
    ];
    const page = await connected(table, { daemon });
    const activated = events.filter((event) => event.startsWith("activate"));
    equal(activated, ["activate first", "activate second", "activate third"]);
    const errors = page.runtime.plugins().filter(({ stage }) => stage === "failed");
    equal(errors.map(({ id, error }) => `${id}: ${error}`), [
      "lonely: it depends on absent, which does not run",
      "waits: it depends on off-one, which does not run",
      "one: it and other depend on each other",
      "other: it and one depend on each other",
      "victim: it depends on one, which does not run",
    ]);
    const logged = page.lines.filter((line) => line.includes(": failed to start: it "));
    equal(logged.length, errors.length);
    await page.runtime.setEnabled("off-one", true);
    await quiet();
    equal(events.slice(-2), ["load waits", "activate waits"]);
  },

  /** A switch has moved when its plugin runs, whatever others wait for. */
  async switched_on_while_others_wait() {
    const daemon = new Daemon();
    daemon.stored.set("enabled:off-one", false);
    daemon.answers.set("state/list", ({ ns }: { ns: string }) => {
      if (ns === "plugin:waits") {
        throw new BridgeError("unavailable", "not now");
      }
      return { entries: Object.fromEntries(daemon.stored) };
    });
    const page = await connected([noting("off-one", []), noting("waits", [])], { daemon });
    await page.runtime.setEnabled("off-one", true);
    equal(stages(page), ["off-one running", "waits waiting"]);
  },

  /** In safe mode no plugin starts until it is left. */
  async safe_mode_by_the_address() {
    const events: string[] = [];
    const page = await connected([noting("some-plugin", events)], { safe: true });
    equal(page.runtime.isSafe, true);
    equal([stages(page), events], [["some-plugin suspended"], []]);
    await page.runtime.setEnabled("some-plugin", false);
    await page.runtime.setEnabled("some-plugin", true);
    equal(events, []);
    page.runtime.leaveSafeMode();
    await quiet();
    equal(page.runtime.isSafe, false);
    equal([page.left, stages(page)], [["left"], ["some-plugin running"]]);
  },

  /** Permissions that need attention come first; each use is told in words. */
  async permissions_of_a_plugin() {
    const daemon = new Daemon();
    const grants = [
      { kind: "network", target: "api.example.org" },
      { kind: "native", target: "notify/send" },
      { kind: "native", target: "notify/targets" },
    ];
    daemon.stored.set("grants:some-plugin", grants);
    const optionalPermissions = ["sql", "native", "made-up"];
    const manifest = { permissions: ["native", "network"], optionalPermissions };
    const page = await connected([entry("some-plugin", { activate: nothing }, manifest)], {
      daemon,
    });
    const { permissions = [], optionalPermissions: optional = [] } =
      page.runtime.manifest("some-plugin") ?? {};
    equal([riskyFirst(permissions), riskyFirst(optional)], [["network", "native"], ["sql", "made-up"]]);
    const granted = await page.runtime.grants("some-plugin");
    equal(granted.map(({ kind, target }) => useOf(kind, target)), [
      "go online to api.example.org",
      "show desktop and VR notifications",
      "see where notifications can be shown",
    ]);
    equal((await failure(page.runtime.grants("not-here"))).message, "the plugin is not installed");
  },

  async revoked_permission_is_asked_for_again() {
    const answers = [true, false];
    let use = (): Promise<unknown> => Promise.resolve();
    const plugin = entry(
      "some-plugin",
      { activate: (ctx) => void (use = () => ctx.sql.databases()) },
      { permissions: ["sql"] },
    );
    const page = await connected([plugin], { answers });
    await use();
    await use();
    equal(page.questions, [
      "Let some-plugin read the app's saved data? All of it, but it can't change it.",
    ]);
    page.daemon.refuses = "state/set";
    equal((await failure(page.runtime.revoke("some-plugin", "sql"))).message, "not now");
    await use();
    page.daemon.refuses = "";
    await page.runtime.revoke("some-plugin", "sql");
    equal(page.daemon.stored.get("grants:some-plugin"), { keyId: KEY, allowed: [] });
    equal(await use().catch((e: Error) => e.name), "PermissionError");
    equal(page.questions.length, 2);
  },

  /** A plugin of another author with the same id does not inherit them. */
  async test_attack_grants_of_a_removed_plugin() {
    const daemon = new Daemon();
    const grants = [{ kind: "sql", target: "*" }];
    const kept = { keyId: KEY, allowed: grants };
    daemon.stored.set("grants:some-plugin", kept);
    daemon.stored.set("grants:removed", kept);
    daemon.stored.set("enabled:removed", false);
    daemon.stored.set("skip:removed", "commit");
    daemon.stored.set("theme", "dark");
    const page = await connected([noting("some-plugin", [])], { daemon });
    equal([...daemon.stored.keys()], ["grants:some-plugin", "theme"]);
    equal(page.state.isOn("removed"), true);
    daemon.stored.set("grants:removed", kept);
    daemon.refuses = "state/delete";
    await page.runtime.installed([{ id: "some-plugin", keyId: KEY }]);
    equal(stages(page), ["some-plugin running"]);
    equal(page.lines.some((line) => line.includes("not forgotten")), true);
  },

  /** A list says nothing of what was kept after the connection to its daemon was lost. */
  async list_that_is_older_than_what_is_kept() {
    const { runtime, daemon, env } = fixture([]);
    daemon.refuses = "state/list";
    const compared = runtime.installed([]);
    await quiet();
    // Another page has installed it meanwhile.
    daemon.refuses = "";
    daemon.stored.set("enabled:bio", false);
    daemon.stored.set("grants:bio", { keyId: KEY, allowed: [] });
    daemon.opened.emit();
    await env.pass(5_000);
    await compared;
    equal([...daemon.stored.keys()], ["enabled:bio", "grants:bio"]);
  },
};
