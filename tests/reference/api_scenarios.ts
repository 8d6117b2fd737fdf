/** What a plugin reaches through its context: HTTP, OSC, databases, and its settings. */

import { BridgeError, type OscMessage, type SettingsSchema } from "@bridge/plugin-api";

import { problemOf } from "../../bridge/reference/packages/api/src/settingrules.js";
import { changesOf } from "../../bridge/reference/packages/host/src/pagesettings.js";
import {
  PERMISSION_WORDS,
  useOf,
} from "../../bridge/reference/packages/host/src/permissionwords.js";
import { readSchema } from "../../bridge/reference/packages/api/src/schemarules.js";
import { KEY, noAnswer, running } from "./pagefixture.js";
import { equal, failure, pending, quiet, refusal, settle, thrown } from "../../clients/typescript/test/fakeenvironment.js";

const FETCHED = {
  status: 200,
  statusText: "OK",
  ok: true,
  url: "https://api.example.org/x",
  headers: { "content-type": "application/json" },
  setCookie: [],
  body: '{"a":[1]}',
};

const SCHEMA: SettingsSchema = {
  volume: { type: "number", label: "Volume", default: 40, min: 0, max: 100, integer: true },
  loud: { type: "boolean", label: "Loud", default: false, help: "Louder than that." },
  name: { type: "text", label: "Name", default: "", maxLength: 5 },
  mode: {
    type: "choice",
    label: "Mode",
    default: "a",
    options: [
      { value: "a", label: "First" },
      { value: "b", label: "Second" },
    ],
  },
};

export const apiScenarios = {
  /** Without the permission no question is asked, and nothing is sent. */
  async undeclared_services() {
    const { ctx, daemon, questions } = await running(["notifications"]);
    const uses = [
      ctx.http.fetch("https://api.example.org/"),
      ctx.osc.send("/a", 1),
      ctx.osc.listen(() => undefined),
      ctx.sql.databases(),
      ctx.sql.query("sample", "SELECT 1"),
      ctx.native.notify({ title: "hello" }),
      ctx.native.targets(),
    ];
    equal(await Promise.all(uses.map((use) => refusal(use))), uses.map(() => "PermissionError"));
    equal([daemon.asked, questions], [[], []]);
  },

  /** The user is asked once for each host, and reads which is undeclared. */
  async http_asks_for_each_host() {
    const manifest = { hosts: ["api.example.org:443"] };
    const { ctx, daemon, questions } = await running(["network"], {
      manifest,
      answers: [true, true, false],
    });
    daemon.answers.set("outbound/fetch", FETCHED);
    await ctx.http.fetch("https://api.example.org/x");
    await ctx.http.fetch("https://API.example.org:443/y");
    await ctx.http.fetch("https://other.example.org:8443/");
    equal(await refusal(ctx.http.fetch("http://api.example.org:81/")), "PermissionError");
    equal(questions, [
      "Let some-plugin go online to api.example.org? Can send what it knows to sites you allow.",
      "Let some-plugin go online to other.example.org:8443? Can send what it knows to " +
        "sites you allow. The plugin did not name this site when it was installed.",
      "Let some-plugin go online to api.example.org:81? Can send what it knows to sites " +
        "you allow. The plugin did not name this site when it was installed.",
    ]);
    equal(daemon.allowed("some-plugin"), [
      { kind: "network", target: "api.example.org" },
      { kind: "network", target: "other.example.org:8443" },
    ]);
    equal(daemon.asked.filter((call) => call === "outbound/fetch").length, 3);
  },

  /** A request is passed on with its limits, and the response is read. */
  async http_requests_and_responses() {
    const { ctx, daemon } = await running(["network"], { answers: [true] });
    daemon.answers.set("outbound/fetch", FETCHED);
    const response = await ctx.http.fetch("https://api.example.org/x");
    equal([response.status, response.ok, response.json()], [200, true, { a: [1] }]);
    equal(response.headers, { "content-type": "application/json" });
    equal("setCookie" in response, false);
    equal(daemon.given.at(-1), [
      { url: "https://api.example.org/x", timeoutMs: 30_000 },
      { timeoutMs: 35_000 },
    ]);
    const headers = { accept: "text/plain" };
    const options = { method: "POST", headers, body: "b", timeoutMs: 999_999 } as const;
    await ctx.http.fetch("https://api.example.org/a b", options);
    equal(daemon.given.at(-1), [
      {
        url: "https://api.example.org/a%20b",
        method: "POST",
        headers,
        body: "b",
        timeoutMs: 120_000,
      },
      { timeoutMs: 125_000 },
    ]);
    await ctx.http.fetch("https://api.example.org/x", { timeoutMs: Infinity });
    equal(daemon.given.at(-1)?.[1], { timeoutMs: 35_000 });
    daemon.refuses = "outbound/fetch";
    const refused = ctx.http.fetch("https://api.example.org/");
    equal(await refusal(refused), "BridgeError unavailable");
  },

  /** The host in the question is the one that is contacted. */
  async test_attack_urls_that_hide_their_host() {
    const { ctx, daemon, questions } = await running(["network"], {
      answers: [false, false, false],
    });
    const refused = ["", "/x", "file:///etc/passwd", "ftp://x/", "https://api.example.org@evil/"];
    for (const url of refused) {
      equal(await refusal(ctx.http.fetch(url)), "BridgeError bad_request");
    }
    equal([daemon.asked, questions], [[], []]);
    // The user is asked about the host that would be contacted.
    for (const url of ["https:\\\\evil.example\\@api.example.org", "https://ev\til.example/"]) {
      equal(await refusal(ctx.http.fetch(url)), "PermissionError");
    }
    const asked = "Let some-plugin go online to evil.example";
    equal(questions.map((words) => words.split("?")[0]), [asked, asked]);
  },

  /** The port is held from the first listener to the last. */
  async osc_of_several_listeners() {
    const { ctx, daemon, lines } = await running(["osc"], { answers: [true] });
    const seen: OscMessage[] = [];
    const bad = (): never => {
      throw new Error("no luck");
    };
    const endBad = await ctx.osc.listen(bad);
    const listener = (message: OscMessage): void => void seen.push(message);
    const end = await ctx.osc.listen(listener);
    const endSame = await ctx.osc.listen(listener);
    const args = [{ kind: "float", value: 0.5 }, { kind: "odd", value: 1 }, 7];
    daemon.push("osc", { address: "/a", args });
    daemon.push("log", { address: "/a", args });
    await quiet();
    const message = { address: "/a", args: [{ kind: "float", value: 0.5 }] };
    equal(seen, [message, message]);
    equal(lines.some((line) => line.startsWith("some-plugin: a listener failed")), true);
    // A page that was away holds the port again.
    daemon.opened.emit();
    await quiet();
    equal(daemon.asked.filter((call) => call === "osc/listen").length, 4);
    endBad();
    end();
    end();
    await quiet();
    equal(daemon.asked.includes("osc/stop"), false);
    // Also for the last one that listens.
    daemon.opened.emit();
    await quiet();
    equal(daemon.asked.filter((call) => call === "osc/listen").length, 5);
    // A daemon that is away hears of the end when it is back, once.
    daemon.refuses = "osc/stop";
    endSame();
    await quiet();
    daemon.refuses = "";
    for (const _ of [1, 2]) {
      daemon.push("osc", { address: "/a", args });
      daemon.opened.emit();
      await quiet();
    }
    equal(seen.length, 2);
    equal(daemon.asked.filter((call) => call === "osc/stop").length, 2);
    equal(daemon.asked.filter((call) => call === "osc/listen").length, 5);
  },

  /** A plugin that gets a message cannot change what the next one gets. */
  async test_attack_message_for_another_plugin() {
    const { ctx, daemon, env } = await running(["osc"], { answers: [true] });
    const seen: OscMessage[] = [];
    await ctx.osc.listen((message) => {
      for (const object of [message, message.args, message.args[0] ?? {}]) {
        Reflect.set(object, "value", 9);
        Reflect.set(object, "address", "/b");
        Reflect.deleteProperty(object, "0");
      }
    });
    await ctx.osc.listen((message) => void seen.push(message));
    const data = { address: "/a", args: [{ kind: "int", value: 1 }] };
    daemon.push("osc", data);
    await quiet();
    equal(seen, [data]);
    // Nor has it more than its share of listeners.
    const more = Array.from({ length: 80 }, () => ctx.osc.listen(() => undefined));
    const outcomes = Promise.all(more.map((one) => refusal(one).catch(() => "listens")));
    await env.pass(60_000);
    const refused = (await outcomes).filter((one) => one === "BridgeError rate_limited");
    equal(refused.length, 80 - 62);
  },

  /** A message is sent with its kinds. */
  async osc_is_sent() {
    const { ctx, daemon } = await running(["osc"], { answers: [true] });
    await ctx.osc.send("/avatar/parameters/Hat", true, { kind: "float", value: 1 });
    equal(daemon.given.at(-1), [
      { address: "/avatar/parameters/Hat", args: [true, { kind: "float", value: 1 }] },
      {},
    ]);
  },

  /** Revoking, or switching off, ends the plugin's listeners. */
  async osc_ends_with_its_permission() {
    const { ctx, daemon, runtime } = await running(["osc"], { answers: [true, true, true] });
    const seen: unknown[] = [];
    await ctx.osc.listen((message) => seen.push(message));
    await runtime.revoke("some-plugin", "osc");
    await quiet();
    equal(daemon.asked.at(-1), "osc/stop");
    // Nor does one that is being added survive it.
    const { call } = daemon;
    const slow = pending();
    daemon.call = async (method, ...rest) => {
      await (method.startsWith("osc/") ? slow.promise : undefined);
      return call(method, ...rest);
    };
    const adding = refusal(ctx.osc.listen((message) => seen.push(message)));
    await quiet();
    await runtime.revoke("some-plugin", "osc");
    slow.resolve();
    equal(await adding, "PermissionError");
    daemon.push("osc", { address: "/a", args: [] });
    await quiet();
    equal(seen, []);
    await ctx.osc.listen((message) => seen.push(message));
    const before = daemon.asked.length;
    await runtime.setEnabled("some-plugin", false);
    daemon.push("osc", { address: "/a", args: [] });
    await quiet();
    equal([seen, daemon.asked.slice(before).includes("osc/stop")], [[], true]);
  },

  /** OSC that another page has taken back is not heard any more. */
  async test_attack_osc_that_another_page_revoked() {
    const { ctx, daemon, state } = await running(["osc"], { answers: [true] });
    const seen: unknown[] = [];
    await ctx.osc.listen((message) => seen.push(message));
    daemon.push("osc", { address: "/a", args: [] });
    await quiet();
    equal(seen.length, 1);
    daemon.stored.set("grants:some-plugin", { keyId: KEY, allowed: [] });
    await state.refresh();
    daemon.push("osc", { address: "/a", args: [] });
    await quiet();
    equal([seen.length, daemon.asked.at(-1)], [1, "osc/stop"]);
  },

  /** What ends a listener that another page has revoked is not for one that asks again. */
  async osc_that_is_allowed_again() {
    const { ctx, daemon, state } = await running(["osc"], { answers: [true, true] });
    await ctx.osc.listen(() => undefined);
    daemon.stored.set("grants:some-plugin", { keyId: KEY, allowed: [] });
    await state.refresh();
    const seen: unknown[] = [];
    const again = ctx.osc.listen((message) => seen.push(message));
    await settle();
    daemon.push("osc", { address: "/a", args: [] });
    await again;
    daemon.push("osc", { address: "/a", args: [] });
    await quiet();
    equal(seen.length, 1);
  },

  /** A listener whose port cannot be held is not kept. */
  async osc_port_that_is_taken() {
    const { ctx, daemon, env } = await running(["osc"], { answers: [true] });
    daemon.refuses = "osc/listen";
    const most = Array.from({ length: 64 }, () => refusal(ctx.osc.listen(() => undefined)));
    await env.pass(60_000);
    equal(await Promise.all(most), most.map(() => "BridgeError unavailable"));
    // A listener that was refused leaves its place.
    const refused = refusal(ctx.osc.listen(() => undefined));
    await env.pass(60_000);
    equal(await refused, "BridgeError unavailable");
    const asked = daemon.asked.length;
    daemon.opened.emit();
    await quiet();
    equal(daemon.asked.slice(asked).includes("osc/listen"), false);
  },

  /** Databases are listed and read after one question, also with an optional permission. */
  async sql_statements() {
    const manifest = { optionalPermissions: ["sql"] };
    const { ctx, daemon, questions } = await running([], { manifest, answers: [true] });
    const listed = [{ alias: "sample", about: "To try.", writable: false }];
    daemon.answers.set("sql/databases", { databases: listed });
    daemon.answers.set("sql/query", { columns: ["n"], rows: [{ n: 1 }] });
    equal(await ctx.sql.databases(), listed);
    equal(await ctx.sql.query("sample", "SELECT ?", [1]), { columns: ["n"], rows: [{ n: 1 }] });
    equal(daemon.given.at(-1), [
      { database: "sample", sql: "SELECT ?", params: [1] },
      { timeoutMs: 15_000 },
    ]);
    equal(questions.length, 1);
  },

  /** One plugin's requests and statements leave half of the page's places to others. */
  async test_attack_slow_calls_that_take_every_place() {
    const { ctx, daemon, env } = await running(["network", "sql"], { answers: [true, true] });
    const ends: ((answer: object) => void)[] = [];
    const slow = (): Promise<object> => new Promise((resolve) => ends.push(resolve));
    daemon.answers.set("outbound/fetch", slow);
    daemon.answers.set("sql/query", slow);
    const first = ctx.sql.query("sample", "SELECT 1");
    void ctx.sql.query("sample", "SELECT 2");
    await quiet();
    for (let n = 0; n < 6; n += 1) {
      void ctx.http.fetch("https://a.example/");
    }
    const asked = (name: string): number => daemon.asked.filter((one) => one === name).length;
    await env.pass(10_000);
    equal([asked("sql/query"), asked("outbound/fetch")], [1, 4]);
    ends[0]?.({ columns: [], rows: [] });
    equal(await first, { columns: [], rows: [] });
    await env.pass(10_000);
    equal([asked("sql/query"), asked("outbound/fetch")], [2, 4]);
  },

  /** A yes that comes after the plugin was switched off allows nothing. */
  async test_attack_grant_after_the_switch() {
    const answer = pending<boolean>();
    const answers = [answer.promise];
    const { ctx, daemon, questions, runtime } = await running(["sql"], { answers });
    void ctx.sql.databases();
    await quiet();
    equal(questions.length, 1);
    await runtime.setEnabled("some-plugin", false);
    answer.resolve(true);
    await quiet();
    equal(daemon.asked.includes("sql/databases"), false);
    equal(daemon.stored.has("grants:some-plugin"), false);
  },

  /** Nor is a call made that waits for its turn then. */
  async test_attack_calls_that_wait_at_the_switch() {
    const page = await running(["native"], { answers: [true] });
    const notify = (): unknown => page.ctx.native.notify({ title: "a" }).catch(() => undefined);
    await notify();
    Array.from({ length: 8 }, notify);
    await quiet();
    const sent = (): number => page.daemon.asked.filter((one) => one === "notify/send").length;
    const before = sent();
    await page.runtime.setEnabled("some-plugin", false);
    await page.env.pass(60_000);
    equal([before, sent()], [6, 6]);
  },

  /** A yes that cannot be saved is not used; the user is asked again. */
  async grant_that_is_not_saved() {
    const { ctx, daemon } = await running(["sql"], { answers: [true, true] });
    daemon.refuses = "state/set";
    equal(await refusal(ctx.sql.databases()), "BridgeError unavailable");
    equal(daemon.asked.includes("sql/databases"), false);
    daemon.refuses = "";
    await ctx.sql.databases();
    equal(daemon.allowed("some-plugin"), [{ kind: "sql", target: "*" }]);
  },

  /** Neither of two grants at once is lost. */
  async grants_of_two_hosts_at_once() {
    const { ctx, daemon } = await running(["network"], { answers: [true, true] });
    const urls = ["https://a.example/", "https://b.example/"];
    await Promise.all(urls.map((url) => ctx.http.fetch(url)));
    equal(daemon.allowed("some-plugin"), [
      { kind: "network", target: "a.example" },
      { kind: "network", target: "b.example" },
    ]);
  },

  /** What another page has revoked does not come back with the next grant. */
  async test_attack_grant_that_another_page_revoked() {
    const { ctx, daemon } = await running(["sql", "network"], { answers: [true, true] });
    await ctx.sql.databases();
    daemon.stored.set("grants:some-plugin", []);
    await ctx.http.fetch("https://a.example/");
    equal(daemon.allowed("some-plugin"), [{ kind: "network", target: "a.example" }]);
  },

  /** What was revoked while the page was not connected allows nothing from then on. */
  async test_attack_grant_revoked_before_the_page_reconnects() {
    const { ctx, daemon, questions } = await running(["sql"], { answers: [true, false] });
    await ctx.sql.databases();
    daemon.stored.set("grants:some-plugin", []);
    daemon.asked.length = 0;
    daemon.opened.emit();
    equal(await refusal(ctx.sql.databases()), "PermissionError");
    equal([questions.length, daemon.asked], [2, ["state/list"]]);
  },

  /** Until the daemon says what is allowed, what was allowed before counts for nothing. */
  async test_attack_grant_after_a_failed_reading() {
    const { ctx, daemon, env, questions } = await running(["sql"], { answers: [true, false] });
    await ctx.sql.databases();
    daemon.stored.set("grants:some-plugin", []);
    daemon.asked.length = 0;
    daemon.refuses = "state/list";
    daemon.opened.emit();
    const refused = refusal(ctx.sql.databases());
    await quiet();
    daemon.refuses = "";
    await env.pass(5_000);
    equal(await refused, "PermissionError");
    // The last reads the plugin's settings.
    equal([questions.length, daemon.asked], [2, Array(3).fill("state/list")]);
  },

  /** The words fit in prompts and in sentences. */
  permission_words() {
    const id = /^[a-z]+([:-][a-z]+)*$/;
    for (const [permission, { label, meaning }] of PERMISSION_WORDS) {
      equal(id.test(permission), true);
      // Fit for the desktop's prompts, which know markup.
      equal(/^[A-Z][A-Za-z ']+$/.test(label), true);
      equal(/^[ -~]+$/.test(meaning) && !/[&<>]/.test(meaning), true);
    }
    equal(useOf("network", "api.example.org"), "go online to api.example.org");
    equal(useOf("clipboard", "read"), "use the clipboard");
    equal(useOf("made-up", "*"), "made-up");
  },

  /** A schema has defaults; the form saves, resets, and notifies the plugin. */
  async settings_of_a_schema() {
    const { ctx, daemon, lines, runtime } = await running([], { settings: SCHEMA });
    equal(runtime.settingsSchema("some-plugin")?.map(({ key }) => key), Object.keys(SCHEMA));
    const defaults = { volume: 40, loud: false, name: "", mode: "a" };
    equal(runtime.settings("some-plugin"), defaults);
    equal([ctx.settings.get("volume"), ctx.settings.get("volume", 7)], [40, 40]);
    let changes = 0;
    ctx.settings.onChange(() => {
      throw new Error("no luck");
    });
    const end = ctx.settings.onChange(() => {
      changes += 1;
    });
    const entered = { volume: 50, mode: "b", unknown: 1 };
    equal(await runtime.saveSettings("some-plugin", entered), { outcome: "saved" });
    equal([ctx.settings.get("volume", 0), ctx.settings.get("mode", "")], [50, "b"]);
    equal(changes, 1);
    equal(lines.at(-1), "some-plugin: a listener failed: Error: no luck");
    equal([...daemon.stored.keys()], ["volume", "mode"]);
    end();
    equal(await runtime.resetSettings("some-plugin"), { outcome: "saved" });
    equal([runtime.settings("some-plugin"), daemon.stored.size], [defaults, 0]);
    equal(changes, 1);
    // A stored value that is not allowed any more counts as the default.
    daemon.stored.set("volume", "loud");
    const next = await running([], { settings: SCHEMA, daemon });
    equal([next.ctx.settings.get("volume"), next.runtime.settings("some-plugin")], [40, defaults]);
  },

  /** Only what the user changed is written: the rest may be another page's. */
  async settings_saved_on_two_pages() {
    const first = await running([], { settings: SCHEMA });
    const { daemon, runtime } = await running([], { settings: SCHEMA, daemon: first.daemon });
    const schema = runtime.settingsSchema("some-plugin") ?? [];
    const shown = runtime.settings("some-plugin");
    await first.runtime.saveSettings("some-plugin", { volume: 77, loud: true });
    const changes = changesOf(schema, shown, { volume: "40", name: "Ana", loud: false });
    equal(changes, { name: "Ana" });
    daemon.asked.length = 0;
    equal(await runtime.saveSettings("some-plugin", changes), { outcome: "saved" });
    equal(daemon.asked, ["state/set plugin:some-plugin name", "state/list"]);
    const stored = { volume: 77, loud: true, name: "Ana" };
    equal(Object.fromEntries(daemon.stored), stored);
    // The form shows what is stored by now.
    equal(runtime.settings("some-plugin"), { ...stored, mode: "a" });
    equal(changesOf(schema, shown, { volume: " 41 ", mode: "b" }), { volume: 41, mode: "b" });
    equal(changesOf(schema, shown, { volume: "" }), { volume: "" });
  },

  /** What another page has saved counts here once that is read; the plugin is told once. */
  async settings_saved_on_another_page() {
    const first = await running([], { settings: SCHEMA });
    const { ctx, daemon, ...page } = await running([], { settings: SCHEMA, daemon: first.daemon });
    const told: unknown[] = [];
    ctx.settings.onChange(() => told.push(ctx.settings.get("name")));
    let drawn = 0;
    page.runtime.changed.listen(() => (drawn += 1));
    let saved = 0;
    first.state.saved.listen(() => (saved += 1));
    for (const [name, refresh] of [
      ["Ana", () => page.runtime.refresh()],
      ["Bo", () => daemon.opened.emit()],
    ] as const) {
      await first.runtime.saveSettings("some-plugin", { name });
      drawn = 0;
      refresh();
      await quiet();
      equal([page.runtime.settings("some-plugin")["name"], told.at(-1)], [name, name]);
      equal(drawn > 0, true);
    }
    page.runtime.refresh();
    await quiet();
    equal([told, saved], [["Ana", "Bo"], 2]);
  },

  /** A value that is not allowed changes nothing and names the rule. */
  async settings_that_break_the_schema() {
    const { ctx, daemon, runtime } = await running([], { settings: SCHEMA });
    const entered = { volume: 101, loud: 1, name: "too long", mode: "c" };
    equal(await runtime.saveSettings("some-plugin", entered), {
      outcome: "invalid",
      problems: {
        volume: "Between 0 and 100.",
        loud: "On or off.",
        name: "At most 5 characters.",
        mode: "One of the choices.",
      },
    });
    const error = await failure(ctx.settings.set("volume", 0.5));
    equal([error.name, error.message], ["RangeError", "volume: A whole number."]);
    equal([daemon.asked, ctx.settings.get("volume")], [[], 40]);
    // A key that the schema does not have is the plugin's own.
    await ctx.settings.set("anything", [1]);
    equal(ctx.settings.get("anything"), [1]);
    equal(runtime.settings("some-plugin"), { volume: 40, loud: false, name: "", mode: "a" });
  },

  /** What could not be saved is named; the rest is saved. */
  async settings_that_are_not_saved() {
    const { ctx, daemon, runtime } = await running([], { settings: SCHEMA });
    const { call: answer } = daemon;
    let refused = "loud";
    daemon.call = async (method, params, options) => {
      if ((params as { readonly key?: string }).key === refused) {
        throw new BridgeError("unavailable", "not now");
      }
      return answer(method, params, options);
    };
    const entered = { volume: 50, loud: true, name: "Ana" };
    const left = (reason: string, ...labels: string[]) => ({ outcome: "not-saved", labels, reason });
    const reason = "BridgeError: not now";
    equal(await runtime.saveSettings("some-plugin", entered), left(reason, "Loud", "Name"));
    equal(runtime.settings("some-plugin"), { volume: 50, loud: false, name: "", mode: "a" });
    equal([ctx.settings.get("volume"), ctx.settings.get("loud")], [50, false]);
    refused = "volume";
    equal(await runtime.resetSettings("some-plugin"), left(reason, "Volume"));
    equal(await runtime.saveSettings("not-here", {}), left("", "not-here"));
  },

  /** Without a connection, nothing is sent, and the form says so at once. */
  async settings_without_a_connection() {
    const { daemon, runtime } = await running([], { settings: SCHEMA });
    daemon.call = () => Promise.reject(new BridgeError("disconnected", "there is no connection"));
    const reason = "BridgeError: there is no connection";
    const volume = { outcome: "not-saved", labels: ["Volume"], reason };
    equal(await runtime.saveSettings("some-plugin", { volume: 50 }), volume);
  },

  /** A daemon that hangs: the form and the plugin learn what it has once it goes on. */
  async settings_on_a_daemon_that_hangs() {
    for (const isSaved of [true, false]) {
      const { ctx, daemon, env, runtime } = await running([], { settings: SCHEMA });
      const { call: answer } = daemon;
      daemon.call = () => Promise.reject(noAnswer());
      const outcomes: string[] = [];
      void runtime.saveSettings("some-plugin", { volume: 50 }).then(({ outcome }) => outcomes.push(outcome));
      const note = (words: string) => () => void outcomes.push(words);
      void ctx.settings.set("own", 1).then(note("set"), note("not set"));
      await env.pass(60_000);
      equal([outcomes, ctx.settings.get("own")], [[], 1]);
      if (isSaved) {
        daemon.stored.set("volume", 50);
        daemon.stored.set("own", 1);
      }
      daemon.call = answer;
      await env.pass(10_000);
      equal(outcomes.sort(), isSaved ? ["saved", "set"] : ["not set", "not-saved"]);
      equal([runtime.settings("some-plugin")["volume"], ctx.settings.get("own")], isSaved ? [50, 1] : [40, null]);
    }
  },

  /** The choices that are shown are those that were checked: texts. */
  test_attack_choices_that_change() {
    class Choices extends Array<object> {
      override map(): never {
        return [{ value: "a", label: { type: "img" } }] as never;
      }
    }
    const options = Choices.of({ value: "a", label: "A" });
    const read = readSchema({ a: { type: "choice", label: "x", default: "a", options } });
    equal(read, [
      { key: "a", label: "x", type: "choice", default: "a", options: [{ value: "a", label: "A" }] },
    ]);
    equal(Object.getPrototypeOf((read[0] as never as { options: object }).options), Array.prototype);
  },

  /** A field that every form has is refused; the page would not show it. */
  test_attack_keys_that_all_objects_have() {
    const field = { type: "number", label: "x", default: 1 };
    for (const key of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const refused = thrown(() => readSchema({ a: field, [key]: field }));
      equal(refused, `RangeError: settings: no key is called ${key}`);
    }
  },

  /** Every rule of a schema is enforced, by field and rule. */
  schemas_that_break_a_rule() {
    const number = { type: "number", label: "x", default: 1 };
    const choice = { type: "choice", label: "x", default: "a" };
    const [option] = [{ value: "a", label: "A" }];
    const broken: [unknown, string][] = [
      [null, "settings: an object by key"],
      [7, "settings: an object by key"],
      [{ "a b": number }, "settings: a key is 1 to 64 of a-z A-Z 0-9 _ . : -"],
      [{ a: 7 }, "settings.a.label: text of at most 80 characters"],
      [
        { a: { ...number, label: "x".repeat(81) } },
        "settings.a.label: text of at most 80 characters",
      ],
      [{ a: { ...number, help: 7 } }, "settings.a.help: text of at most 300 characters"],
      [{ a: { ...number, type: "date" } }, "settings.a.type: number, boolean, text or choice"],
      [{ a: { ...number, default: NaN } }, "settings.a.default: a value the field accepts"],
      [{ a: { ...number, max: 0 } }, "settings.a.default: a value the field accepts"],
      [{ a: { ...number, min: "0" } }, "settings.a: min and max are numbers"],
      [{ a: { ...number, min: 2, max: 1 } }, "settings.a: min is at most max"],
      [
        { a: { type: "text", label: "x", default: "", maxLength: 10_001 } },
        "settings.a.maxLength: a whole number from 1 to 10000",
      ],
      [
        { a: { type: "text", label: "x", default: "abc", maxLength: 3, minLength: 4 } },
        "settings.a.minLength: a whole number from 0 to 3",
      ],
      [{ a: choice }, "settings.a.options: 1 to 50 options"],
      [
        { a: { ...choice, options: [{ value: "a" }] } },
        "settings.a.options: value and label are text of at most 80 characters",
      ],
      [
        { a: { ...choice, options: [option, option] } },
        "settings.a.options: no two options have the same value",
      ],
      [
        Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, number])),
        "settings: at most 50 fields",
      ],
    ];
    for (const [schema, message] of broken) {
      equal(thrown(() => readSchema(schema)).replace(/^\w+Error: /, ""), message);
    }
    equal(readSchema(undefined), []);
  },

  /** Every kind of field checks its values. */
  values_of_fields() {
    const number = { type: "number", label: "x", default: 0 } as const;
    const text = { type: "text", label: "x", default: "" } as const;
    equal(problemOf(number, "1"), "A number.");
    equal(problemOf(number, Infinity), "A number.");
    equal(problemOf({ ...number, min: 1 }, 0), "At least 1.");
    equal(problemOf({ ...number, max: 1 }, 2), "At most 1.");
    equal(problemOf({ ...number, min: 1, max: 1 }, 1), "");
    equal(problemOf(text, 7), "A text.");
    equal(problemOf(text, "a\nb"), "One line.");
    equal(problemOf({ ...text, minLength: 1 }, ""), "Not empty.");
    equal(problemOf({ ...text, minLength: 2 }, "a"), "At least 2 characters.");
    equal(problemOf({ ...text, multiline: true }, "a\nb"), "");
    equal(problemOf(text, "x".repeat(1001)), "At most 1000 characters.");
  },
};
