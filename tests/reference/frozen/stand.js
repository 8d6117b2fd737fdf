// The runtime of the page with a daemon that answers everything, and a user who agrees.
import { BridgeError } from "@bridge/plugin-api";
import { COMPILED_PLUGINS } from "@bridge/static-plugins";

import { Log } from "./log.js";
import { PluginCards } from "./plugincards.js";
import { createRuntime } from "./runtime.js";
import { Signal } from "./signal.js";

const answers = {
  "state/list": { entries: { a: { b: [1] } } },
  "state/get": { value: [] },
  "notify/targets": {
    targets: [{ name: "a", description: "b", health: "up", honours: ["c"] }],
  },
  "notify/send": { ok: true, delivered: ["a"], failed: [{ sink: "b", error: "c" }] },
  "outbound/fetch": {
    ...{ status: 200, statusText: "OK", ok: true, headers: { a: "b" }, body: "{}" },
  },
  "sql/databases": { databases: [{ alias: "a", about: "b" }] },
  "sql/query": { columns: ["a"], rows: [{ a: { blobBytes: 1 } }] },
};
const message = { address: "/a", args: [{ kind: "int", value: 1 }] };

const pushes = new Signal();
const opened = new Signal();
const daemon = {
  pushes,
  opened,
  async call(service, method) {
    const name = `${service}/${method}`;
    if (name === "notify/refused") throw new BridgeError("unavailable", "not now");
    if (name === "osc/send") pushes.emit({ event: "osc", data: message });
    return structuredClone(answers[name] ?? {});
  },
};

/** Start the plugins; resolves to what their modules export by default. */
export async function start() {
  const loaded = [];
  const table = COMPILED_PLUGINS.map(({ manifest, load }) => ({
    manifest,
    load: async () => {
      const module = await load();
      loaded.push(module.default);
      return module;
    },
  }));
  const log = new Log(() => 0, () => undefined);
  const lines = [];
  log.recorded.listen((record) => lines.push(record.message));
  const cards = new PluginCards();
  document.documentElement.append(cards.element);
  const runtime = createRuntime(table, {
    daemon,
    log,
    environment: { later: () => () => undefined, now: () => 0 },
    storage: { getItem: () => null, setItem() {}, removeItem() {} },
    ask: () => Promise.resolve(true),
    place: (manifest, logger) => cards.place(manifest, logger),
    safe: false,
    leftSafeMode: () => undefined,
  });
  opened.emit();
  const isAt = (wanted) => runtime.plugins().some(({ stage }) => stage === wanted);
  while (isAt("waiting") || isAt("starting")) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  if (isAt("failed")) throw new Error(lines.join("\n"));
  return loaded;
}

/** Leave what a promise resolves to for the test, as JSON. */
export function leave(promise) {
  const text = (value) => {
    globalThis.result = JSON.stringify(value);
  };
  promise.then(text, (e) => text({ error: String(e?.stack ?? e) }));
}
