/**
 * Remembers what the page's scripts share, before any of them has run.
 *
 * Later the suite calls what is under the symbol `outside`: it returns which parts are not
 * what they were, one a line. Nothing here calls a function that could be replaced.
 */
(() => {
  if (self !== top) {
    return;
  }
  const { apply, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const { has, set } = Map.prototype;
  const nameOf = String;
  const known = new Map();
  const objects = [];
  const isObject = (value) =>
    (typeof value === "object" && value !== null) || typeof value === "function";

  const remember = (value, path) => {
    if (!isObject(value) || apply(has, known, [value])) {
      return;
    }
    const properties = { __proto__: null };
    apply(set, known, [value, 1]);
    const keys = ownKeys(value);
    const prototype = getPrototypeOf(value);
    objects[objects.length] = { keys, path, properties, prototype, value };
    remember(prototype, `${path}.__proto__`);
    for (let at = 0; at < keys.length; at += 1) {
      const key = keys[at];
      const about = getOwnPropertyDescriptor(value, key);
      properties[key] = about;
      const name = `${path}.${nameOf(key)}`;
      remember(about.value, name);
      remember(about.get, `get ${name}`);
      remember(about.set, `set ${name}`);
    }
  };

  const named = { AggregateError, Array, ArrayBuffer, BigInt, Boolean, DOMException, DataView };
  const more = { Date, Error, EvalError, Function, Intl, JSON, Map, Math, Number, Object };
  const rest = { Promise, Proxy, RangeError, Reflect, RegExp, Set, String, Symbol, TypeError };
  const web = { TextDecoder, TextEncoder, URL, URLSearchParams, Uint8Array, WeakMap, WeakSet };
  const made = {
    arrays: [][Symbol.iterator](),
    async: async () => 0,
    asyncGenerator: (async function* () {})(),
    generator: (function* () {})(),
    maps: new Map().keys(),
    matches: "a".matchAll(/a/g),
    sets: new Set().keys(),
    texts: ""[Symbol.iterator](),
  };
  for (const group of [named, more, rest, web, made]) {
    for (const name of ownKeys(group)) {
      remember(group[name], name);
    }
  }

  // A property that was made an accessor is what it was while it gives the same.
  const same = (value, was, is) => {
    if (is === undefined) {
      return false;
    }
    if ("value" in was) {
      const now = "value" in is ? is.value : is.get && apply(is.get, value, []);
      return now === was.value || (now !== now && was.value !== was.value);
    }
    return is.get === was.get;
  };

  const changes = () => {
    let text = "";
    for (let at = 0; at < objects.length; at += 1) {
      const { keys, path, properties, prototype, value } = objects[at];
      const now = ownKeys(value);
      if (getPrototypeOf(value) !== prototype || now.length !== keys.length) {
        text += `${path}\n`;
      }
      for (let index = 0; index < keys.length; index += 1) {
        const key = keys[index];
        if (!same(value, properties[key], getOwnPropertyDescriptor(value, key))) {
          text += `${path}.${nameOf(key)}\n`;
        }
      }
    }
    return text;
  };
  Object.defineProperty(globalThis, Symbol.for("outside"), { value: changes });
})();
