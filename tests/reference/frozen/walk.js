// The host's entry for this test: it starts the plugins, and walks what they reach.
import { makers } from "./before.js";
import { explained, explainMore } from "./explain.js";
import { isObject, shown } from "./names.js";
import { leave, start } from "./stand.js";

// They return what is known, with the same function.
const UNCALLED = new Set(["constructor", "apply", "bind", "call"]);

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

const ASYNC = Object.getPrototypeOf(async () => {});

/** A function without a prototype of its own, a record or an array of such. */
function isPlain(value) {
  const proto = Object.getPrototypeOf(value);
  return typeof value === "function"
    ? [Function.prototype, ASYNC].includes(proto) && !Object.hasOwn(value, "prototype")
    : [null, Object.prototype, Array.prototype].includes(proto);
}

// What the host and the scopes have made, instead of the page.
const OURS = /^context\.|^api\.|^names\.(console|crypto|performance|(set|clear)[TI])/;

/** Whether it belongs to the page, or makes functions of text. */
function isForbidden(value) {
  return makers.includes(value) || value === globalThis || value instanceof EventTarget ||
    value === EventTarget.prototype;
}

async function result() {
  const [first, other] = await start();
  const again = new Set(reached(await first.reach()).keys());
  // Both at once, so that what is pushed to both is there.
  const [ofFirst, ofOther] = await Promise.all([first.reach(), other.reach()]);
  const found = reached(ofFirst);
  const others = reached(ofOther);
  const list = explained();
  const missed = [...list].filter(([value]) => !found.has(value)).map(([, name]) => name);
  explainMore(list);
  // What a plugin has made itself is its own, however often it hands it over.
  const shared = [...found].filter(
    ([value, path]) => others.has(value) || (again.has(value) && !/made\./.test(path)),
  );
  const paths = (values) => values.map(([, path]) => path);
  return {
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

leave(result());
