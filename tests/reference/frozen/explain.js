// Which objects a maintained list of the language's has, by walking along that list.
import { BridgeError, PermissionError, definePlugin } from "@bridge/plugin-api";

import { isObject, keyOf } from "./names.js";
import permits from "./permits.json";

// What the list does not have, and what no path leads to.
const UNNAMED = [
  Object.getOwnPropertyDescriptor(new Error(), "stack"),
  (async function* () {})()[Symbol.asyncDispose],
  new Intl.Segmenter().segment(""),
  new Intl.Segmenter().segment("")[Symbol.iterator](),
  new URLSearchParams().keys(),
];

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

/** Return what each object is that the maintained list has. */
export function explained() {
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

/** Add what the list does not have, and everything that it leads to. */
export function explainMore(list) {
  const api = [BridgeError, PermissionError, definePlugin];
  const roots = [...permits.beyond.flatMap(at), ...UNNAMED, ...api];
  const todo = roots.filter(isObject);
  for (const object of todo) {
    if (list.has(object)) continue;
    list.set(object, "");
    const own = Object.getOwnPropertyDescriptors(object);
    const inside = Reflect.ownKeys(own).flatMap((key) => {
      const { value, get, set } = own[key];
      return [value, get, set];
    });
    todo.push(...[...inside, Object.getPrototypeOf(object)].filter(isObject));
  }
}
