// The host's entry for this test: it starts the plugins, and walks what they reach.
import { makers } from "./before.js";
import { COMPILED_PLUGINS } from "@bridge/static-plugins";

import { BridgeError, PermissionError } from "@bridge/plugin-api";
import { Log } from "./log.js";
import permits from "./permits.json";
import { PluginCards } from "./plugincards.js";
import { createRuntime } from "./runtime.js";
import { Signal } from "./signal.js";

// They return what is known, with the same function.
const UNCALLED = new Set(["constructor", "apply", "bind", "call"]);

const isObject = (value) =>
  typeof value === "function" || (typeof value === "object" && value !== null);

function shown(key) {
  return typeof key === "symbol" ? `@@${key.description.replace("Symbol.", "")}` : key;
}

/** Everything that is reached from a value, by what it is reached as. */
function reached(roots) {
  const found = new Map();
  const todo = [[roots, "", 0]];
  const add = (value, path, calls) => {
    if (isObject(value) && !found.has(value)) {
      found.set(value, path);
      todo.push([value, path, calls]);
    }
  };
  for (const [object, path, calls] of todo) {
    const chain = [];
    for (let one = object; one !== null; one = Object.getPrototypeOf(one)) chain.push(one);
    add(Object.getPrototypeOf(object), `${path}.[[Prototype]]`, 9);
    for (const key of Reflect.ownKeys(object)) {
      const { value, get, set } = Object.getOwnPropertyDescriptor(object, key);
      const where = path === "" ? shown(key) : `${path}.${shown(key)}`;
      add(value, where, calls);
      add(get, `get ${where}`, 9);
      add(set, `set ${where}`, 9);
    }
    // What methods and getters return, on what the plugin has made.
    if (calls > 1 || !/^made\.\d|^(new )?names\./.test(path)) continue;
    for (const one of chain) {
      for (const key of Reflect.ownKeys(one)) {
        try {
          const value = object[key];
          add(value, `${path}.${shown(key)}`, 9);
          if (typeof value !== "function" || UNCALLED.has(key)) continue;
          add(object[key](), `${path}.${shown(key)}()`, calls + 1);
        } catch {
          // It wants more.
        }
      }
    }
    if (typeof object === "function" && path.startsWith("names.")) {
      try {
        add(new object(), `new ${path}`, 0);
      } catch {
        // It is none that makes objects, or wants more.
      }
    }
  }
  return found;
}

/** The objects that the maintained list explains. */
function explained() {
  const named = new Map();
  const todo = [];
  const name = (value, kind) => {
    if (isObject(value) && !named.has(value)) {
      named.set(value, kind);
      todo.push([value, kind]);
    }
  };
  for (const [key, kind] of Object.entries(permits.globals)) name(globalThis[key], kind);
  name(Symbol, "%SharedSymbol%");
  const proto = Object.getPrototypeOf;
  const hidden = {
    "%ThrowTypeError%": Object.getOwnPropertyDescriptor(
      (function () { return arguments; })(), "callee").get,
    "%FunctionPrototype%": Function.prototype,
    "%InertFunction%": Function.prototype.constructor,
    "%AsyncFunctionPrototype%": proto(async () => {}),
    "%Generator%": proto(function* () {}),
    "%AsyncGenerator%": proto(async function* () {}),
    "%ArrayIteratorPrototype%": proto([].values()),
    "%StringIteratorPrototype%": proto(""[Symbol.iterator]()),
    "%RegExpStringIteratorPrototype%": proto("".matchAll(/a/g)),
    "%MapIteratorPrototype%": proto(new Map().keys()),
    "%SetIteratorPrototype%": proto(new Set().keys()),
    "%IteratorHelperPrototype%": proto([].values().map(String)),
    "%WrapForValidIteratorPrototype%": proto(Iterator.from({ next() {} })),
    "%AsyncIteratorPrototype%": proto(proto((async function* () {}).prototype)),
  };
  for (const [kind, value] of Object.entries(hidden)) name(value, kind);
  for (const [object, kind] of todo) {
    for (const [key, permit] of Object.entries(permits.permitted[kind] ?? {})) {
      if (permit === false) continue;
      if (key === "[[Proto]]") {
        name(proto(object), permit);
        continue;
      }
      const own = Object.getOwnPropertyDescriptor(object, keyOf(key));
      if (own === undefined) continue;
      name(own.get, `get ${kind}.${key}`);
      name(own.set, `set ${kind}.${key}`);
      if ("value" in own || typeof permit === "string" || permit["[[Proto]]"]) {
        const value = "value" in own ? own.value : own.get.call(object);
        name(value, typeof permit === "string" ? permit : `${kind}.${key}`);
      }
    }
  }
  return named;
}

/** Add what is reached from these too, as far as the list does not explain it. */
function explainMore(list, roots) {
  const todo = roots.filter(isObject);
  for (const object of todo) {
    if (list.has(object)) continue;
    list.set(object, "");
    const own = Object.getOwnPropertyDescriptors(object);
    const inside = Reflect.ownKeys(own).flatMap((key) => [own[key].value, own[key].get, own[key].set]);
    todo.push(...[...inside, Object.getPrototypeOf(object)].filter(isObject));
  }
}

/** What the property at a path such as `Map.prototype.get` is, and what it is read as. */
function at(path) {
  const keys = path.split(".").map(keyOf);
  const holder = keys.slice(0, -1).reduce((object, key) => object?.[key], globalThis);
  if (holder === undefined) return [];
  try {
    return [Object.getOwnPropertyDescriptor(holder, keys.at(-1)), holder[keys.at(-1)]];
  } catch {
    return [Object.getOwnPropertyDescriptor(holder, keys.at(-1))];
  }
}

const ASYNC = Object.getPrototypeOf(async () => {});

/** A function without a prototype of its own, a record or an array of such. */
function isPlain(value) {
  const proto = Object.getPrototypeOf(value);
  return typeof value === "function"
    ? [Function.prototype, ASYNC].includes(proto) && !Object.hasOwn(value, "prototype")
    : [null, Object.prototype, Array.prototype].includes(proto);
}

function keyOf(written) {
  if (written === "--proto--") return "__proto__";
  return written.startsWith("@@") ? Symbol[written.slice(2)] : written;
}

// What the list does not have, and what no path leads to.
const UNNAMED = [
  Object.getOwnPropertyDescriptor(new Error(), "stack"),
  (async function* () {})()[Symbol.asyncDispose],
  new Intl.Segmenter().segment(""),
  new Intl.Segmenter().segment("")[Symbol.iterator](),
  new URLSearchParams().keys(),
];
// What the host and the scopes have made, instead of the page.
const OURS = /^context\.|^api\.|^names\.(console|crypto|performance|(set|clear)[TI])/;

/** Whether it belongs to the page, or makes functions of text. */
function isForbidden(value) {
  return makers.includes(value) || value === globalThis || value instanceof EventTarget ||
    value === EventTarget.prototype;
}

const loaded = [];
const table = COMPILED_PLUGINS.map(({ manifest, load }) => ({
  manifest,
  load: async () => {
    const module = await load();
    loaded.push(module.default);
    return module;
  },
}));
const answers = {
  "state/list": { entries: { a: { b: [1] } } },
  "state/get": { value: [] },
  "notify/targets": { targets: [{ name: "a", description: "b", health: "up", honours: ["c"] }] },
  "notify/send": { ok: true, delivered: ["a"], failed: [{ sink: "b", error: "c" }] },
  "outbound/fetch": { status: 200, statusText: "OK", ok: true, headers: { a: "b" }, body: "{}" },
  "sql/databases": { databases: [{ alias: "a", about: "b" }] },
  "sql/query": { columns: ["a"], rows: [{ a: { blobBytes: 1 } }] },
};
const pushes = new Signal();
const opened = new Signal();
const daemon = {
  pushes,
  opened,
  async call(service, method) {
    const name = `${service}/${method}`;
    if (name === "notify/refused") throw new BridgeError("unavailable", "not now");
    if (name === "osc/send") {
      const args = [{ kind: "int", value: 1 }];
      pushes.emit({ event: "osc", data: { address: "/a", args } });
    }
    return structuredClone(answers[name] ?? {});
  },
};
const log = new Log(() => 0, () => undefined);
const lines = [];
log.recorded.listen(({ scope, message }) => lines.push(`${scope}: ${message}`));
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

async function result() {
  opened.emit();
  while (runtime.plugins().some(({ stage }) => stage !== "running")) {
    if (runtime.plugins().some(({ stage }) => stage === "failed")) throw lines.join("\n");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const [first, other] = loaded;
  const again = new Set(reached(await first.reach()).keys());
  // Both at once, so that what is pushed to both is there.
  const [ofFirst, ofOther] = await Promise.all([first.reach(), other.reach()]);
  const found = reached(ofFirst);
  const others = reached(ofOther);
  const list = explained();
  const missed = [...list].filter(([value]) => !found.has(value)).map(([, name]) => name);
  explainMore(list, [...permits.beyond.flatMap(at), ...UNNAMED, BridgeError, PermissionError]);
  // What a plugin has made itself is its own, however often it hands it over.
  const shared = [...found].filter(
    ([value, path]) => others.has(value) || (again.has(value) && !/made\./.test(path)),
  );
  const paths = (values) => values.map(([, path]) => path);
  return {
    lines,
    count: shared.length,
    forbidden: paths([...found].filter(([value]) => isForbidden(value))),
    unfrozen: paths(shared.filter(([value]) => !Object.isFrozen(value))),
    strange: paths(
      [...found].filter(([value]) => {
        const proto = Object.getPrototypeOf(value);
        return others.has(proto) && !list.has(proto);
      }),
    ),
    unlisted: paths(
      shared.filter(([value, path]) => !list.has(value) && !(OURS.test(path) && isPlain(value))),
    ),
    missed,
  };
}

result().then(
  (found) => { globalThis.result = JSON.stringify(found); },
  (e) => { globalThis.result = JSON.stringify({ error: `${e} ${e?.stack}` }); },
);
