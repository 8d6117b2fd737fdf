/** The context that unit tests of plugins use. */

import { BridgeError, definePlugin } from "@bridge/plugin-api";

import { type FakeOptions, fakeContext } from "../../bridge/reference/packages/api/src/testing.js";
import { equal, failure, refusal, thrown } from "../../clients/typescript/test/fakeenvironment.js";

const plugin = definePlugin({
  id: "some-plugin",
  settings: {
    volume: { type: "number", label: "Volume", default: 40, min: 0, max: 100 },
  },
  activate: () => undefined,
});

function made(options: FakeOptions = {}) {
  return fakeContext(plugin, options);
}

export const kitScenarios = {
  /** Settings obey the plugin's schema. */
  async kit_settings() {
    const fake = made({ settings: { volume: 900, other: "x" } });
    const { settings } = fake.ctx;
    // A stored value that the schema does not allow counts as the default.
    equal([settings.get("volume", 0), settings.get("other"), settings.get("other", 1)], [40, "x", 1]);
    const broken = await failure(settings.set("volume", 101));
    equal([broken.name, broken.message], ["RangeError", "volume: Between 0 and 100."]);
    const none = await failure(settings.set("words", undefined as never));
    equal([none.name, none.message], ["TypeError", "words: must be JSON"]);
    await settings.set("volume", 7);
    for (const [key, value, words] of [
      ["a b", 1, "BridgeError bad_request"],
      ["words", "\u00e4".repeat(32_768), "BridgeError too_large"],
      ["words", 1n as never, "TypeError"],
    ] as const) {
      equal(await refusal(settings.set(key, value)), words);
    }
    equal(fake.stored, { volume: 7, other: "x" });
    // One that the page refuses is not one to test with.
    const declared = { volume: { type: "number", label: "Volume", default: 9, max: 7 } } as const;
    const refused = failure((async () => fakeContext({ ...plugin, settings: declared }))());
    equal((await refused).message, "settings.volume.default: a value the field accepts");
  },

  /** What the user saves is validated, and listeners are notified. */
  kit_saved_by_the_user() {
    const fake = made();
    const heard: number[] = [];
    const end = fake.ctx.settings.onChange(() => heard.push(fake.ctx.settings.get("volume", 0)));
    fake.ctx.settings.onChange(() => {
      throw new Error("mine");
    });
    fake.save({ volume: 1 });
    end();
    fake.save({ volume: 2 });
    equal(heard, [1]);
    const line = { level: "error", message: "a listener failed: Error: mine" };
    equal(fake.lines, [line, line]);
    for (const values of [{ volume: -1 }, { volume: 3, unknown: 1 }]) {
      const [refused] = thrown(() => fake.save(values)).split(":");
      equal([refused, fake.stored], ["RangeError", { volume: 2 }]);
    }
  },

  /** Without its permission, every call rejects. */
  async kit_permissions() {
    const { ctx } = made({ permissions: ["osc"] });
    await ctx.osc.send("/a");
    for (const refused of [
      ctx.http.fetch("https://example.org/"),
      ctx.native.notify({ title: "x" }),
      ctx.native.targets(),
      ctx.sql.databases(),
      ctx.sql.query("sample", "SELECT 1"),
      made().ctx.native.call("state", "get"),
    ]) {
      equal((await failure(refused)).name, "PermissionError");
    }
  },

  /** Cards show what was added; a button that fails writes a log line. */
  async kit_cards() {
    const fake = made();
    const card = fake.ctx.ui.card("Title");
    const line = card.text("one");
    let pressed = 0;
    const button = card.button("Press", async () => {
      pressed += 1;
      line.set("two");
      throw new Error("mine");
    });
    const [shown] = fake.cards;
    equal([shown?.title, shown?.text, shown?.buttons], ["Title", "one\nPress", ["Press"]]);
    await shown?.press("Press");
    equal([pressed, shown?.text], [1, "two\nPress"]);
    const message = "the button “Press” failed: Error: mine";
    equal(fake.lines, [{ level: "error", message }]);
    button.enable(false);
    equal(
      (await failure(Promise.resolve().then(() => shown?.press("Press")))).message,
      "there is no enabled button “Press” on the card “Title”",
    );
    button.remove();
    equal([shown?.text, shown?.buttons], ["two", []]);
    line.show(false);
    equal(shown?.text, "");
    fake.ctx.ui.card("Other");
    card.remove();
    card.remove();
    equal(fake.cards.map(({ title }) => title), ["Other"]);
  },

  /** Tests write into fields as users do, under the same rules. */
  async kit_fields() {
    const fake = made();
    const card = fake.ctx.ui.card("Title");
    const heard: unknown[] = [];
    const changed = ({ value }: { readonly value: unknown }): void => void heard.push(value);
    const name = card.input("Name", { value: "a", maxLength: 3, changed });
    card.number("Size", { min: 1, changed });
    const [shown] = fake.cards;
    equal(shown?.text, "Name: a\nSize: ");
    await shown?.write("Name", "abcdef");
    await shown?.write("Size", 0);
    await shown?.write("Size", 2);
    await shown?.write("Size", undefined);
    equal(heard, ["abc", 2, undefined]);
    equal([name.value(), shown?.value("Name"), shown?.value("Size")], ["abc", "abc", undefined]);
    name.enable(false);
    for (const label of ["Name", "Other"]) {
      const refused = await failure(shown?.write(label, "x") ?? Promise.resolve());
      equal(refused.message.startsWith("there is no "), true);
    }
  },

  /** Tables, progress bars and images are recorded, under the page's rules. */
  kit_shown_data() {
    const fake = made();
    const card = fake.ctx.ui.card("Title");
    card.table("Worlds", ["Name", "Visits"]).setRows([["Home", 3]]);
    const progress = card.progress("Reading", 0.25);
    card.image("data:image/gif;base64,R0lGODlhAQAB", "A dot");
    const [shown] = fake.cards;
    equal(shown?.text, "Worlds\nName | Visits\nHome | 3\nReading: 25 %\nA dot");
    equal([shown?.rows("Worlds"), shown?.images], [[["Home", "3"]], ["A dot"]]);
    progress.set(undefined);
    equal([shown?.progress("Reading"), shown?.text.includes("Reading: …")], [undefined, true]);
    equal(thrown(() => card.progress("Reading", 2)), "RangeError: progress: from 0 to 1");
  },

  /** Requests are recorded, and answered as the test prepares it. */
  async kit_http() {
    const fake = made({
      respond: (url) => {
        if (url.endsWith("/down")) {
          throw new BridgeError("unavailable", "no route");
        }
        return url.endsWith("/json") ? { body: { a: [1] } } : { status: 404, body: "gone" };
      },
    });
    const { http } = fake.ctx;
    const json = await http.fetch("https://example.org/json", { method: "POST", body: "b" });
    equal([json.ok, json.status, json.json()], [true, 200, { a: [1] }]);
    const gone = await http.fetch("https://example.org/");
    equal([gone.ok, gone.status, gone.body], [false, 404, "gone"]);
    equal(await refusal(http.fetch("https://example.org/down")), "BridgeError unavailable");
    equal(fake.requests[0], {
      url: "https://example.org/json",
      options: { method: "POST", body: "b" },
    });
    equal(fake.requests.length, 3);
    for (const url of ["/x", "ftp://example.org/", "https://a:b@example.org/"]) {
      equal(await refusal(http.fetch(url)), "BridgeError bad_request");
    }
    equal(fake.requests.length, 3);
    const unprepared = await failure(made().ctx.http.fetch("https://example.org/"));
    equal(unprepared.message, "the test prepares no response: pass the option respond");
  },

  /** Messages are recorded with the types they have on the wire. */
  async kit_osc() {
    const fake = made();
    const { osc } = fake.ctx;
    await osc.send("/a", 1, 1.5, true, "x", { kind: "float", value: 2 });
    const kinds = fake.sent[0]?.args.map(({ kind }) => kind);
    equal(kinds, ["int", "float", "bool", "string", "float"]);
    const heard: string[] = [];
    const end = await osc.listen(({ address }) => heard.push(address));
    equal(fake.isListening, true);
    fake.receive("/b", 1);
    end();
    fake.receive("/c");
    equal([heard, fake.isListening], [["/b"], false]);
  },

  /** Statements and notifications are answered as the test prepares it. */
  async kit_sql_and_native() {
    const fake = made({
      query: (_database, _sql, [name]) => [{ name: String(name), visits: 3 }],
      notified: () => ({ ok: false, delivered: [], failed: [{ sink: "x", error: "y" }] }),
      called: (method) => ({ method }),
    });
    const { sql, native } = fake.ctx;
    const found = await sql.query("sample", "SELECT 1", ["home"]);
    equal(found, { columns: ["name", "visits"], rows: [{ name: "home", visits: 3 }] });
    equal((await native.notify({ title: "T" })).ok, false);
    equal(fake.notifications, [{ title: "T" }]);
    equal(await native.call("notify", "targets"), { method: "targets" });
    equal((await made().ctx.native.notify({ title: "T" })).delivered, ["fake"]);
    equal([await sql.databases(), await native.targets()], [[], []]);
    const failing = made({
      notified: () => {
        throw new BridgeError("timeout", "late");
      },
    });
    const { ok, failed } = await failing.ctx.native.notify({ title: "T" });
    equal([ok, failed], [false, [{ sink: "bridge", error: "BridgeError: late" }]]);
  },

  /** A plugin that is off has no cards and no listeners, and is refused. */
  async kit_switched_off() {
    let ended = 0;
    const fake = fakeContext({ ...plugin, deactivate: () => void (ended += 1) });
    fake.ctx.ui.card("Title");
    await fake.ctx.osc.listen(() => undefined);
    await fake.switchOff();
    equal([ended, fake.cards.length, fake.isListening], [1, 0, false]);
    equal((await failure(fake.ctx.osc.send("/a"))).message, "the plugin is switched off");
  },
};
