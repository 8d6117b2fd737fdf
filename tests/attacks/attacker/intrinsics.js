import { put, spy, spying, undoing } from "./common/replacing.js";

const { apply, getPrototypeOf, set } = Reflect;
const functions = getPrototypeOf(() => 0);

/** Make an attack that replaces a method by one that looks at what it works on. */
function spied(object, key) {
  return ({ loot }) => spy(loot, object, key);
}

/** Replaces `JSON.stringify`, and reads the next `hello` frame. */
export async function json_stringify_and_hello({ ctx, loot }) {
  spy(loot, JSON, "stringify");
  await reconnected(ctx, loot);
}

/** Gives all objects a `toJSON`, and reads the next `hello` frame. */
export async function to_json_and_hello({ ctx, loot }) {
  const toJSON = function () {
    loot.sift(this);
    return this;
  };
  put(Object.prototype, "toJSON", { value: toJSON });
  await reconnected(ctx, loot);
}

async function reconnected(ctx, loot) {
  loot.drop();
  for (const moment of [1, 2]) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    await ctx.settings.set("moment", moment).catch(() => undefined);
  }
}

/** Replaces `JSON.stringify`, and reads what others write to their settings. */
export const json_stringify = spied(JSON, "stringify");

/** Gives all objects a `toJSON`, and reads what others make a text. */
export function to_json({ loot }) {
  const toJSON = function () {
    loot.sift(this);
    return this;
  };
  return put(Object.prototype, "toJSON", { value: toJSON });
}

/** Replaces `JSON.parse`. */
export const json_parse = spied(JSON, "parse");
/** Replaces `Array.prototype.push`. */
export const array_push = spied(Array.prototype, "push");
/** Replaces `Array.prototype.map`. */
export const array_map = spied(Array.prototype, "map");
/** Replaces `Array.prototype.join`. */
export const array_join = spied(Array.prototype, "join");
/** Replaces how arrays are iterated. */
export const array_iterator = spied(Array.prototype, Symbol.iterator);
/** Replaces the step of the iterator that arrays have. */
export const array_iterator_step = spied(getPrototypeOf([][Symbol.iterator]()), "next");

/** Replaces the step of every generator. */
export const generator_step = spied(getPrototypeOf(function* () {}).prototype, "next");

/** Replaces the step of every async generator, and looks at what its steps give. */
export function async_generator_step({ loot }) {
  const generators = Object.getPrototypeOf(async function* () {}).prototype;
  const { next } = generators;
  const stepping = async function () {
    const step = await apply(next, this, arguments);
    loot.sift(step);
    return step;
  };
  return put(generators, "next", { value: stepping });
}

/** Replaces the step of the iterator that `matchAll` gives. */
export const match_step = spied(getPrototypeOf("a".matchAll(/a/g)), "next");

/** Has arrays that others make by `map` and `filter` be of its own kind. */
export function array_species({ loot }) {
  class Spy extends Array {
    static get [Symbol.species]() {
      return Array;
    }
  }
  return put(Array, Symbol.species, {
    get() {
      return function (length) {
        const made = new Spy(length);
        return new Proxy(made, {
          defineProperty(target, key, about) {
            loot.sift(about.value);
            return Reflect.defineProperty(target, key, about);
          },
        });
      };
    },
  });
}

/** Replaces `Promise.prototype.then`. */
export function promise_then({ loot }) {
  return put(Promise.prototype, "then", { value: thenOf(loot, Promise.prototype.then) });
}

function thenOf(loot, then) {
  return function (done, failed) {
    const spied = (value) => {
      loot.sift(value);
      return typeof done === "function" ? done(value) : value;
    };
    return apply(then, this, [spied, failed]);
  };
}

/** Gives all objects a `then`, which is read when one is awaited. */
export function then_of_all_objects({ loot }) {
  return put(Object.prototype, "then", {
    get() {
      loot.sift(this);
      return undefined;
    },
  });
}

/** Replaces `Promise.all`. */
export const promise_all = spied(Promise, "all");
/** Replaces `Promise.resolve`. */
export const promise_resolve = spied(Promise, "resolve");
/** Replaces `String.prototype.split`. */
export const string_split = spiedText("split");
/** Replaces `String.prototype.replace`. */
export const string_replace = spiedText("replace");
/** Replaces how texts are iterated. */
export const string_iterator = spiedText(Symbol.iterator);

function spiedText(key) {
  return ({ loot }) => {
    const original = String.prototype[key];
    const looking = function () {
      loot.sift(`${this}`);
      return apply(original, this, arguments);
    };
    return put(String.prototype, key, { value: looking });
  };
}

/** Replaces `RegExp.prototype.exec`, which every match uses. */
export const regexp_exec = spied(RegExp.prototype, "exec");
/** Replaces what `String.prototype.replace` calls of an expression. */
export const regexp_replace = spied(RegExp.prototype, Symbol.replace);

/** Reads `RegExp.input`, which keeps the last text that anybody matched. */
export async function regexp_input({ loot }) {
  for (let moment = 0; moment < 8; moment += 1) {
    await new Promise((resolve) => setTimeout(resolve, 15));
    loot.sift(RegExp["input"]);
    loot.sift(RegExp["$_"]);
  }
}

/** Replaces `Map.prototype.get`, with which the host reads settings. */
export const map_get = spied(Map.prototype, "get");
/** Replaces `Set.prototype.has`. */
export const set_has = spied(Set.prototype, "has");
/** Replaces `Object.entries`. */
export const object_entries = spied(Object, "entries");
/** Replaces `Object.assign`. */
export const object_assign = spied(Object, "assign");
/** Replaces `Reflect.get`. */
export const reflect_get = spied(Reflect, "get");

/** Replaces `Object.freeze`, so that handles of others can be changed. */
export function object_freeze() {
  return put(Object, "freeze", { value: (value) => value });
}

/** Replaces `Function.prototype.call`. */
export const function_call = spied(functions, "call");
/** Replaces `Function.prototype.apply`. */
export const function_apply = spied(functions, "apply");
/** Replaces `Function.prototype.bind`. */
export const function_bind = spied(functions, "bind");

/** Replaces `map` of every typed array. */
export function typed_array_map({ loot }) {
  const typed = Object.getPrototypeOf(Uint8Array.prototype);
  const { map } = typed;
  const looking = function (change, ...more) {
    loot.sift(apply(String.fromCharCode, undefined, this));
    return apply(map, this, [change, ...more]);
  };
  return put(typed, "map", { value: looking });
}

/** Replaces `TextEncoder.prototype.encode`. */
export const text_encoder = spied(TextEncoder.prototype, "encode");
/** Replaces `TextDecoder.prototype.decode`. */
export const text_decoder = spied(TextDecoder.prototype, "decode");
/** Replaces `URLSearchParams.prototype.get`. */
export const url_parameters = spied(URLSearchParams.prototype, "get");

/** Replaces the getter of `URL.prototype.searchParams`. */
export function url_getter({ loot }) {
  const { get } = Object.getOwnPropertyDescriptor(URL.prototype, "searchParams");
  return put(URL.prototype, "searchParams", {
    get() {
      loot.sift(this.href);
      return apply(get, this, []);
    },
  });
}

/** Replaces the getter of `Intl.Collator.prototype.compare`. */
export function collator({ loot }) {
  const { get } = Object.getOwnPropertyDescriptor(Intl.Collator.prototype, "compare");
  return put(Intl.Collator.prototype, "compare", {
    get() {
      const compare = apply(get, this, []);
      return (one, other) => {
        loot.sift(one);
        return compare(one, other);
      };
    },
  });
}

/** Has `Array.prototype.includes` always agree, which the check of permissions uses. */
export function array_includes() {
  return put(Array.prototype, "includes", { value: () => true });
}

/** Changes what time it is for everybody. */
export function date_now() {
  return put(Date, "now", { value: () => 0 });
}

/** Gives all objects a property that is read as an option. */
export function option_of_all_objects() {
  return put(Object.prototype, "timeoutMs", { value: 1, writable: true, enumerable: true });
}

/** Takes a method away from all arrays. */
export function array_without_at() {
  const undo = undoing(Array.prototype, "at");
  delete Array.prototype.at;
  return undo;
}

/** Gives `Array.prototype` another prototype. */
export function prototype_of_arrays() {
  Object.setPrototypeOf(Array.prototype, { __proto__: Object.prototype, other: 1 });
}

/** Assigns to `Array.prototype.map` instead of defining it. */
export function assigned_method({ loot }) {
  const { map } = Array.prototype;
  const undo = undoing(Array.prototype, "map");
  Array.prototype.map = spying(loot, map);
  return undo;
}

/** Assigns to a method of all objects, functions and arrays alike. */
export function assigned_to_all_objects({ loot }) {
  const { toString } = Object.prototype;
  Object.prototype.toString = function () {
    loot.sift(this);
    return apply(toString, this, []);
  };
  return () => {
    Object.prototype.toString = toString;
  };
}

/** Assigns to the promises' prototype by `Reflect.set`, with that as the receiver. */
export function assigned_by_reflect({ loot }) {
  const { then } = Promise.prototype;
  const assigned = set(Promise.prototype, "then", thenOf(loot, then), Promise.prototype);
  if (!assigned) {
    throw new TypeError("it cannot be assigned");
  }
  return () => set(Promise.prototype, "then", then);
}

/** Calls the setter that a property has, if it has one, for the prototype itself. */
export function setter_of_a_prototype({ loot }) {
  const arrays = Array.prototype;
  const { push } = arrays;
  const about = Object.getOwnPropertyDescriptor(arrays, "push");
  const change = about.set ?? ((value) => (arrays.push = value));
  apply(change, arrays, [spying(loot, push)]);
  return () => apply(change, arrays, [push]);
}

/** Defines a getter in the old way. */
export function old_getter({ loot }) {
  const { join } = Array.prototype;
  const undo = undoing(Array.prototype, "join");
  Array.prototype.__defineGetter__("join", () => spying(loot, join));
  return undo;
}

/** Puts a prototype of its own between an iterator's and the one of all iterators. */
export function prototype_between({ loot }) {
  const steps = getPrototypeOf([][Symbol.iterator]());
  const before = getPrototypeOf(steps);
  const { next } = steps;
  Object.setPrototypeOf(steps, { __proto__: before, next: spying(loot, next) });
  delete steps.next;
  return () => {
    steps.next = next;
    Object.setPrototypeOf(steps, before);
  };
}
