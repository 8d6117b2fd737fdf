/** The log, the settings and the permissions. */

import type { Json } from "@bridge/plugin-api";

import { ClientLink } from "../../bridge/reference/packages/host/src/clientlink.js";
import { Log } from "../../bridge/reference/packages/host/src/log.js";
import { GatedNative } from "../../bridge/reference/packages/host/src/native.js";
import { PageSettings, readSettings } from "../../bridge/reference/packages/host/src/pagesettings.js";
import { Gate } from "../../bridge/reference/packages/host/src/permissions.js";
import { Preferences, namesDaemon, readEndpoint } from "../../bridge/reference/packages/host/src/preferences.js";
import type { Values } from "../../bridge/reference/packages/host/src/settings.js";
import { Signal } from "../../bridge/reference/packages/host/src/signal.js";
import { Daemon, Memory, bookOf, manifestOf } from "./pagefixture.js";
import { FakeEnvironment, equal, quiet, refusal, settle } from "../../clients/typescript/test/fakeenvironment.js";

async function native(daemon: Daemon, answers: boolean[], name?: string): Promise<GatedNative> {
  const manifest = manifestOf({ name, permissions: ["native"] });
  const ask = (): Promise<boolean> => {
    const answer = answers.shift();
    return answer === undefined
      ? Promise.reject(new Error("asked once too often"))
      : Promise.resolve(answer);
  };
  const grants = bookOf(daemon);
  await grants.compare([{ id: manifest.id, keyId: "a-key" }]);
  daemon.asked.length = 0;
  const asker = { ask, withdraw: () => undefined, unsaved: new Signal<string>() };
  return new GatedNative(daemon, new Gate(manifest, grants, asker));
}

export const hostScenarios = {
  /** Calls without a connection fail as the API has documented it. */
  async calls_of_a_page_that_is_not_paired() {
    const { fetch, WebSocket } = globalThis;
    const stubs = { fetch: () => Promise.resolve(Response.json({})), WebSocket: class {} };
    Object.assign(globalThis, stubs);
    try {
      const link = new ClientLink("http://127.0.0.1:1", "");
      await settle();
      const calls = [link.call("plugins/list"), link.operate("plugins/update", { id: "bio" }, {})];
      equal([link.reason, link.isOpen], ["missing", false]);
      const refused = await Promise.all(calls.map((call) => refusal(call)));
      equal(refused, ["BridgeError disconnected", "BridgeError disconnected"]);
      link.client.close();
    } finally {
      Object.assign(globalThis, { fetch, WebSocket });
    }
  },

  /** The daemon's own lines are never sent back to it. */
  log_never_mirrors_the_daemon() {
    const mirrored: string[] = [];
    const log = new Log({ ...new FakeEnvironment(), date: () => 7 }, (level, scope, message) => {
      mirrored.push(`${level} ${scope} ${message}`);
    });
    const seen: object[] = [];
    log.recorded.listen((record) => seen.push(record));
    log.add("error", "bridge", "a line of the daemon's own");
    log.scope("some-plugin").warn("a line of a plugin");
    equal(mirrored, ["warn some-plugin a line of a plugin"]);
    equal(seen[0], { level: "error", scope: "bridge", message: "a line of the daemon's own", ts: 7 });
  },

  /** An endpoint is this computer by http, and nothing else. */
  endpoints() {
    equal(readEndpoint(" http://127.0.0.1:42081/// "), "http://127.0.0.1:42081");
    equal(readEndpoint("HTTP://LocalHost:1"), "http://localhost:1");
    equal(readEndpoint("http://localhost"), "http://localhost:80");
    const refused = [
      "",
      "javascript:0",
      "127.0.0.1:1",
      "ws://localhost:1",
      "https://127.0.0.1:1",
      "http://example.org:1",
      "http://127.0.0.1:0",
      "http://127.0.0.1:65536",
      "http://127.0.0.1:1/path",
      "http://127.0.0.1:1?q",
      "http://127.0.0.1:1#x",
      "http://u:p@127.0.0.1:1",
      "http://127.0.0.1.example.org:1",
      "http://localhost:1@example.org",
    ];
    equal(refused.filter((written) => readEndpoint(written) !== undefined), []);
  },

  /** A link to another endpoint does not get the token shown there. */
  link_cannot_take_the_token() {
    const memory = new Memory();
    const preferences = new Preferences(memory);
    equal([preferences.endpoint, preferences.token], ["http://127.0.0.1:42081", ""]);
    preferences.token = "secret";
    for (const other of ["", "#endpoint", "#endpoint=", "#endpoint=%", "#endpoint=http://a.b:5"]) {
      preferences.follow(other);
    }
    preferences.follow("#endpoint=http%3A%2F%2F127.0.0.1%3A42081");
    equal([preferences.endpoint, preferences.token], ["http://127.0.0.1:42081", "secret"]);
    const named = ["#endpoint=http://127.0.0.1:6", "#x&token=y", "", "#/plugins", "#/endpoint"];
    equal(named.map(namesDaemon), [true, true, false, false, false]);
    const kept = [...memory];
    preferences.follow("#endpoint=http://127.0.0.1:6");
    equal([preferences.target, preferences.first], ["http://127.0.0.1:42081", "secret"]);
    equal([preferences.destination, [...memory]], [{ endpoint: "http://127.0.0.1:6", token: "" }, kept]);
    preferences.move({ endpoint: "http://127.0.0.1:6", token: "" });
    equal([preferences.target, preferences.first], ["http://127.0.0.1:6", ""]);
    // On a page that is not paired there is nothing to lose.
    preferences.follow("#endpoint=http://127.0.0.1:7");
    equal([preferences.target, preferences.endpoint], ["http://127.0.0.1:7", "http://127.0.0.1:6"]);
  },

  /** The address's fragment may have the token; it is kept once it is accepted. */
  link_pairs_the_page() {
    const token = "8dTj5DPWSET2KLYtb9ii-0xPbHCmjBnxh5_bgCa9oLg";
    const preferences = new Preferences(new Memory());
    preferences.follow(`#endpoint=http://127.0.0.1:5&token=${token}`);
    equal([preferences.target, preferences.first, preferences.token], ["http://127.0.0.1:5", token, ""]);
    const link = { state: "connecting", endpoint: "http://127.0.0.1:5" };
    preferences.settle(link);
    equal(preferences.token, "");
    link.state = "connected";
    preferences.settle(link);
    equal([preferences.token, preferences.offered], [token, ""]);
    equal(preferences.endpoint, "http://127.0.0.1:5");
    preferences.follow(`#endpoint=http://127.0.0.1:6&token=${token}`);
    equal([preferences.target, preferences.destination], ["http://127.0.0.1:6", undefined]);
    for (const fragment of ["#token=", "#token=short", "#token=a%20b%20c%20d%20e%20f%20g%20h", "#/plugins"]) {
      preferences.follow(fragment);
      equal([preferences.offered, preferences.token], ["", token]);
    }
  },

  /** A tab that was led elsewhere does not move a page that was paired meanwhile. */
  test_attack_link_before_the_page_was_paired() {
    for (const state of ["unpaired", "connected"]) {
      const preferences = new Preferences(new Memory());
      preferences.follow(`#endpoint=http://127.0.0.1:6&token=${"x".repeat(43)}`);
      preferences.token = "of another tab";
      preferences.offered = "x".repeat(43);
      preferences.settle({ state, endpoint: "http://127.0.0.1:6" });
      equal([preferences.endpoint, preferences.token], ["http://127.0.0.1:42081", "of another tab"]);
    }
  },

  /** Writes go one after another, and of quick ones the last counts; a refused one rejects. */
  async settings_are_written_in_order() {
    const daemon = new Daemon();
    daemon.stored.set("count", 1);
    const read = (): Promise<Values> => readSettings(daemon, "some-plugin");
    const settings = new PageSettings(daemon, daemon, "some-plugin", await read(), read);
    equal(settings.get("count", 0), 1);
    const writes = [2, 3, 4].map((count) => settings.set("count", count));
    writes.push(settings.set("name", "x"));
    equal(settings.get("count", 0), 4);
    await Promise.all(writes);
    equal(daemon.asked, [
      "state/list",
      "state/set plugin:some-plugin count",
      // Of the two that came meanwhile, only the last.
      "state/set plugin:some-plugin count",
      "state/set plugin:some-plugin name",
    ]);
    equal(daemon.stored.get("count"), 4);
    await settings.set("count", 5);
    equal([daemon.stored.get("count"), daemon.asked.length], [5, 5]);
    const { call } = daemon;
    daemon.call = async (method, params, options) => {
      daemon.refuses = (params as { value?: Json }).value === 6 ? method : "";
      return call(method, params, options);
    };
    const shown: Json[] = [];
    const end = settings.onChange(() => shown.push(settings.get("count", 0)));
    const refused = refusal(settings.set("count", 6));
    const saved = settings.set("name", "y");
    equal(await refused, "BridgeError unavailable");
    // It is not there, and the other is saved.
    await saved;
    await quiet();
    equal([settings.get("count", 0), daemon.stored.get("name"), shown], [5, "y", [5]]);
    end();
    await settings.set("count", 7);
    equal(daemon.stored.get("count"), 7);
    // A value of another type than the fallback is not returned.
    const found: Json | undefined = settings.get("absent");
    equal([settings.get("count", "few"), found === undefined], ["few", true]);
  },

  /** The method that is called is the one that the user was asked about. */
  async test_attack_method_that_changes() {
    const daemon = new Daemon();
    const api = await native(daemon, [true]);
    const names = ["targets", "send", "send"];
    const method = { toString: () => names.shift() ?? "send" };
    await api.call("notify", method as never);
    equal(daemon.asked.filter((call) => call.startsWith("notify/")), ["notify/targets"]);
    equal(daemon.stored.get("grants:some-plugin"), {
      keyId: "a-key",
      allowed: [{ kind: "native", target: "notify/targets" }],
    });
  },

  /** Neither another service nor a name that is more than a method's is asked about. */
  async test_attack_method_by_another_name() {
    const daemon = new Daemon();
    const api = await native(daemon, [false]);
    equal(await refusal(api.call("notify", "send")), "PermissionError");
    for (const service of ["state", "plugins", "outbound", "sql", "remote", "", "Notify"]) {
      equal(await refusal(api.call(service, "send")), "PermissionError");
    }
    for (const method of ["send/2", "send/", "/send", "send ", "send\n", "", "se\u0000nd"]) {
      equal(await refusal(api.call("notify", method)), "BridgeError bad_request");
    }
    equal(daemon.asked, []);
  },

  /** The user is asked once for each method; the daemon keeps a yes, and no no. */
  async grants_are_asked_for_once() {
    const daemon = new Daemon();
    const refused = (await native(daemon, [false])).notify({ title: "no" });
    equal(await refusal(refused), "PermissionError");
    equal([daemon.asked, [...daemon.stored]], [[], []]);
    const api = await native(daemon, [true]);
    await Promise.all([api.notify({ title: "one" }), api.notify({ title: "two" })]);
    equal(daemon.stored.get("grants:some-plugin"), {
      keyId: "a-key",
      allowed: [{ kind: "native", target: "notify/send" }],
    });
    equal((await (await native(daemon, [])).notify({ title: "next page" })).ok, true);
  },

  /** A notification names the plugin that sends it, whatever the plugin says. */
  async test_attack_sender_of_its_own_choice() {
    const daemon = new Daemon();
    const api = await native(daemon, [true]);
    await api.notify({ title: "one", sourceApp: "VRCNext" });
    await api.call("notify", "send", { title: "two", sourceApp: "VRCNext" });
    const sent = daemon.given.slice(-2).map((given) => (given as { sourceApp: string }[])[0]?.sourceApp);
    equal(sent, ["some-plugin (plugin)", "some-plugin (plugin)"]);
    // Nor to a single sink; what is malformed is the daemon's to refuse.
    const overrides = { overlay: { sourceApp: "VRCNext", title: "three" }, other: "x", list: [1] };
    await api.call("notify", "send", { title: "three", sourceApp: "VRCNext", overrides });
    equal(daemon.given.at(-1)?.[0], {
      title: "three",
      sourceApp: "some-plugin (plugin)",
      overrides: {
        overlay: { sourceApp: "some-plugin (plugin)", title: "three" },
        other: "x",
        list: [1],
      },
    });
    // As much of a long name as the daemon takes.
    await (await native(daemon, [true], "n".repeat(99))).notify({ title: "four" });
    const [long] = daemon.given.at(-1) as { sourceApp: string }[];
    equal([long?.sourceApp.length, long?.sourceApp.endsWith("n (plugin)")], [64, true]);
  },

  /** A notification that fails is reported in its result. */
  async notify_does_not_reject() {
    const daemon = new Daemon();
    const api = await native(daemon, [true]);
    const sent = await api.notify({ title: "one" });
    equal(sent, { ok: true, delivered: ["overlay"], failed: [{ sink: "x", error: "gone" }] });
    daemon.refuses = "notify/send";
    const failed = await api.notify({ title: "two" });
    equal([failed.ok, failed.failed[0]?.sink], [false, "bridge"]);
    equal(await refusal(api.call("notify", "send")), "BridgeError unavailable");
  },
};
