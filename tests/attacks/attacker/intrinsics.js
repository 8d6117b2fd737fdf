const { apply } = Reflect;

// Replaces a function that everybody shares by one that also looks at what it works on.
function spy(loot, object, key) {
  const { value: original } = Object.getOwnPropertyDescriptor(object, key);
  const spying = function () {
    const result = apply(original, this, arguments);
    loot.sift(this);
    loot.sift(arguments);
    loot.sift(result);
    return result;
  };
  Object.defineProperty(object, key, { value: spying, writable: true, configurable: true });
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
  Object.defineProperty(Object.prototype, "toJSON", { value: toJSON, configurable: true });
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
export function json_stringify({ loot }) {
  spy(loot, JSON, "stringify");
}

/** Gives all objects a `toJSON`, and reads what others make a text. */
export function to_json({ loot }) {
  const toJSON = function () {
    loot.sift(this);
    return this;
  };
  Object.defineProperty(Object.prototype, "toJSON", { value: toJSON, configurable: true });
}

/** Replaces `JSON.parse`. */
export function json_parse({ loot }) {
  spy(loot, JSON, "parse");
}

/** Replaces `Array.prototype.push`. */
export function array_push({ loot }) {
  spy(loot, Array.prototype, "push");
}

/** Replaces `Array.prototype.map`. */
export function array_map({ loot }) {
  spy(loot, Array.prototype, "map");
}

/** Replaces `Array.prototype.join`. */
export function array_join({ loot }) {
  spy(loot, Array.prototype, "join");
}

/** Replaces how arrays are iterated. */
export function array_iterator({ loot }) {
  spy(loot, Array.prototype, Symbol.iterator);
}

/** Replaces the step of the iterator that arrays have. */
export function array_iterator_step({ loot }) {
  spy(loot, Object.getPrototypeOf([][Symbol.iterator]()), "next");
}

/** Replaces the step of every generator. */
export function generator_step({ loot }) {
  const generators = Object.getPrototypeOf(function* () {}).prototype;
  spy(loot, generators, "next");
}

/** Replaces the step of every async generator, and looks at what its steps give. */
export function async_generator_step({ loot }) {
  const generators = Object.getPrototypeOf(async function* () {}).prototype;
  const { next } = generators;
  const spying = async function () {
    const step = await apply(next, this, arguments);
    loot.sift(step);
    return step;
  };
  Object.defineProperty(generators, "next", { value: spying });
}

/** Replaces the step of the iterator that `matchAll` gives. */
export function match_step({ loot }) {
  spy(loot, Object.getPrototypeOf("a".matchAll(/a/g)), "next");
}

/** Has arrays that others make by `map` and `filter` be of its own kind. */
export function array_species({ loot }) {
  class Spy extends Array {
    static get [Symbol.species]() {
      return Array;
    }
  }
  Object.defineProperty(Array, Symbol.species, {
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
  const { then } = Promise.prototype;
  const spying = function (done, failed) {
    const spied = (value) => {
      loot.sift(value);
      return typeof done === "function" ? done(value) : value;
    };
    return apply(then, this, [spied, failed]);
  };
  Object.defineProperty(Promise.prototype, "then", { value: spying });
}

/** Gives all objects a `then`, which is read when one is awaited. */
export function then_of_all_objects({ loot }) {
  Object.defineProperty(Object.prototype, "then", {
    configurable: true,
    get() {
      loot.sift(this);
      return undefined;
    },
  });
}

/** Replaces `Promise.all`. */
export function promise_all({ loot }) {
  spy(loot, Promise, "all");
}

/** Replaces `Promise.resolve`. */
export function promise_resolve({ loot }) {
  spy(loot, Promise, "resolve");
}

/** Replaces `String.prototype.split`. */
export function string_split({ loot }) {
  spyOnTexts(loot, "split");
}

/** Replaces `String.prototype.replace`. */
export function string_replace({ loot }) {
  spyOnTexts(loot, "replace");
}

/** Replaces how texts are iterated. */
export function string_iterator({ loot }) {
  spyOnTexts(loot, Symbol.iterator);
}

function spyOnTexts(loot, key) {
  const original = String.prototype[key];
  const spying = function () {
    loot.sift(`${this}`);
    return apply(original, this, arguments);
  };
  Object.defineProperty(String.prototype, key, { value: spying });
}

/** Replaces `RegExp.prototype.exec`, which every match uses. */
export function regexp_exec({ loot }) {
  spy(loot, RegExp.prototype, "exec");
}

/** Replaces what `String.prototype.replace` calls of an expression. */
export function regexp_replace({ loot }) {
  spy(loot, RegExp.prototype, Symbol.replace);
}

/** Reads `RegExp.input`, which keeps the last text that anybody matched. */
export async function regexp_input({ loot }) {
  for (let moment = 0; moment < 8; moment += 1) {
    await new Promise((resolve) => setTimeout(resolve, 15));
    loot.sift(RegExp["input"]);
    loot.sift(RegExp["$_"]);
  }
}

/** Replaces `Map.prototype.get`, with which the host reads settings. */
export function map_get({ loot }) {
  spy(loot, Map.prototype, "get");
}

/** Replaces `Set.prototype.has`. */
export function set_has({ loot }) {
  spy(loot, Set.prototype, "has");
}

/** Replaces `Object.entries`. */
export function object_entries({ loot }) {
  spy(loot, Object, "entries");
}

/** Replaces `Object.assign`. */
export function object_assign({ loot }) {
  spy(loot, Object, "assign");
}

/** Replaces `Reflect.get`. */
export function reflect_get({ loot }) {
  spy(loot, Reflect, "get");
}

/** Replaces `Object.freeze`, so that handles of others can be changed. */
export function object_freeze() {
  Object.defineProperty(Object, "freeze", { value: (value) => value });
}

/** Replaces `Function.prototype.call`. */
export function function_call({ loot }) {
  spy(loot, functions(), "call");
}

/** Replaces `Function.prototype.apply`. */
export function function_apply({ loot }) {
  spy(loot, functions(), "apply");
}

/** Replaces `Function.prototype.bind`. */
export function function_bind({ loot }) {
  spy(loot, functions(), "bind");
}

function functions() {
  return Object.getPrototypeOf(() => 0);
}

/** Replaces `map` of every typed array. */
export function typed_array_map({ loot }) {
  const typed = Object.getPrototypeOf(Uint8Array.prototype);
  const { map } = typed;
  const spying = function (change, ...more) {
    loot.sift(apply(String.fromCharCode, undefined, this));
    return apply(map, this, [change, ...more]);
  };
  Object.defineProperty(typed, "map", { value: spying });
}

/** Replaces `TextEncoder.prototype.encode`. */
export function text_encoder({ loot }) {
  spy(loot, TextEncoder.prototype, "encode");
}

/** Replaces `TextDecoder.prototype.decode`. */
export function text_decoder({ loot }) {
  spy(loot, TextDecoder.prototype, "decode");
}

/** Replaces `URLSearchParams.prototype.get`. */
export function url_parameters({ loot }) {
  spy(loot, URLSearchParams.prototype, "get");
}

/** Replaces the getter of `URL.prototype.searchParams`. */
export function url_getter({ loot }) {
  const { get } = Object.getOwnPropertyDescriptor(URL.prototype, "searchParams");
  Object.defineProperty(URL.prototype, "searchParams", {
    get() {
      loot.sift(this.href);
      return apply(get, this, []);
    },
  });
}

/** Replaces the getter of `Intl.Collator.prototype.compare`. */
export function collator({ loot }) {
  const { get } = Object.getOwnPropertyDescriptor(Intl.Collator.prototype, "compare");
  Object.defineProperty(Intl.Collator.prototype, "compare", {
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
  Object.defineProperty(Array.prototype, "includes", { value: () => true });
}

/** Changes what time it is for everybody. */
export function date_now() {
  Object.defineProperty(Date, "now", { value: () => 0 });
}

/** Gives all objects a property that is read as an option. */
export function option_of_all_objects() {
  Object.prototype.timeoutMs = 1;
}

/** Takes a method away from all arrays. */
export function array_without_at() {
  delete Array.prototype.at;
}

/** Gives `Array.prototype` another prototype. */
export function prototype_of_arrays() {
  Object.setPrototypeOf(Array.prototype, { __proto__: Object.prototype, other: 1 });
}
