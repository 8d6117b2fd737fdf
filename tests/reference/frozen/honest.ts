// A plugin of code as it is published: each function returns what is compared.
import { BridgeError, definePlugin } from "@bridge/plugin-api";

const any = (value: unknown) => value as any;

const idioms: { [name: string]: () => unknown } = {
  class_of_errors() {
    class AppError extends TypeError {
      override name = "AppError";
      constructor(readonly code: number) {
        super("first");
        this.message = `code ${code}`;
        any(this).stack += "!";
      }
      override toString() { return `<${super.toString()}>`; }
    }
    const error = new AppError(3);
    return [String(error), error.name, error.message, error instanceof TypeError, error.code];
  },

  errors_with_fields() {
    const error = any(new Error());
    error.message = "later";
    error.name = "Named";
    error.toString = () => "shown";
    error.constructor = Object;
    return [String(error), error.message, Object.keys(error).sort()];
  },

  error_of_the_api() {
    class Mine extends BridgeError {
      constructor() {
        super("code", "words");
        this.name = "Mine";
      }
    }
    const error = new Mine();
    return [error.name, error.code, error instanceof BridgeError, String(error)];
  },

  old_inheritance() {
    function Base(this: any) { this.made = true; }
    Base.prototype.toString = function () { return "base"; };
    function Derived(this: any) { any(Base).call(this); }
    Derived.prototype = Object.create(Base.prototype);
    Derived.prototype.constructor = Derived;
    Derived.prototype.valueOf = function () { return 4; };
    function Failure(this: any, message: string) { this.message = message; }
    Failure.prototype = Object.create(Error.prototype);
    Failure.prototype.constructor = Failure;
    Failure.prototype.name = "Failure";
    Failure.prototype.toString = function () { return `${this.name}!`; };
    const derived = new (any(Derived))();
    const failure = new (any(Failure))("m");
    return [String(derived), derived + 1, derived.made, String(failure), failure.message];
  },

  objects_as_maps() {
    const counts: any = {};
    for (const word of ["constructor", "toString", "hasOwnProperty", "valueOf", "a"]) {
      counts[word] = (Object.hasOwn(counts, word) ? counts[word] : 0) + 1;
    }
    return [counts, Object.keys(counts), JSON.stringify(counts)];
  },

  assigned_methods() {
    const made = Object.assign(Object.create({ a: 1 }), {
      toString: () => "mine",
      hasOwnProperty: () => "mine too",
    });
    return [String(made), made.hasOwnProperty("a"), Object.keys(made)];
  },

  functions_with_members() {
    const call: any = () => 1;
    call.toString = () => "source";
    call.bind = 5;
    call.call = 6;
    call.constructor = 7;
    return [String(call), call.bind, call.call, call.constructor, call()];
  },

  kinds_of_functions() {
    const kinds = [() => 1, async () => 1, function* () {}, async function* () {}];
    return kinds.map((kind) => [kind.constructor.name, kind instanceof kind.constructor]);
  },

  arrays_with_members() {
    const list: any = [1];
    const seen: number[] = [];
    list.push = function (...all: number[]) {
      seen.push(...all);
      return Array.prototype.push.apply(this, all);
    };
    list.push(2, 3);
    list.toString = () => "list";
    return [seen, [...list], String(list), list.length];
  },

  async promises_with_members() {
    const promise: any = Promise.resolve(1);
    const then = promise.then;
    promise.then = function (...all: unknown[]) { return then.apply(this, all); };
    promise.cancel = () => "cancelled";
    promise.finally = 3;
    return [await promise, promise.cancel(), promise.finally];
  },

  compiled_generators() {
    // What compilers of generators for old browsers write.
    const prototype = Object.getPrototypeOf(Object.getPrototypeOf([].values()));
    const made = Object.create(prototype);
    made[Symbol.iterator] = function () { return this; };
    made[Symbol.toStringTag] = "Generator";
    made.toString = () => "[object Generator]";
    made.constructor = class {};
    let left = 2;
    made.next = () => ({ done: left === 0, value: left-- });
    return [[...made], String(made), Object.prototype.toString.call(made)];
  },

  subclasses() {
    class List<T> extends Array<T> {
      get last() { return this[this.length - 1]; }
      override toString() { return `List ${this.length}`; }
    }
    class Names extends Map<string, number> {
      override get(name: string) { return super.get(name) ?? 0; }
    }
    const list = List.from([1, 2, 3]).map((n) => n * 2) as List<number>;
    const names = new Names([["a", 1]]);
    return [list.last, String(list), list instanceof List, names.get("a"), names.get("b")];
  },

  async asynchronous() {
    async function* numbers() { yield 1; yield* [2, 3]; }
    const found = [];
    for await (const n of numbers()) found.push(n);
    const all = await Promise.allSettled([Promise.reject(new Error("no")), 1]);
    const raced = await Promise.race([Promise.resolve("first"), new Promise(() => {})]);
    const later = await new Promise((resolve) => setTimeout(resolve, 1, "later"));
    const ended = setInterval(() => {}, 1);
    clearInterval(ended);
    return [found, all.map(({ status }) => status), raced, later];
  },

  texts() {
    const swapped = "a-b c-d".replace(/(\w)-(\w)/g, (_, one, other) => `${other}-${one}`);
    const named = /(?<year>\d+)-(?<month>\d+)/.exec("2026-11")?.groups;
    const all = [..."a1b2".matchAll(/[a-z](\d)/g)].map((found) => found[1]);
    const tagged = ((text: TemplateStringsArray, n: number) => text.raw.join(String(n)))`x${2}y`;
    return [swapped, { ...named }, all, tagged, "äß".normalize("NFD").length];
  },

  platform() {
    const url = new URL("../b?c=d#e", "https://a.test/x/y");
    url.searchParams.append("f", "ö");
    const copy = structuredClone({ date: new Date(0), map: new Map([[1, { a: [1] }]]) });
    const bytes = new TextEncoder().encode("ä");
    let refused = "";
    try { atob("*"); } catch (e) { refused = any(e).name; }
    return [
      ...[url.href, [...url.searchParams], copy.date.toISOString(), copy.map.get(1)],
      ...[new TextDecoder().decode(bytes), btoa("a"), refused],
      crypto.getRandomValues(new Uint8Array(4)).length,
    ];
  },

  internationalization() {
    return [
      new Intl.NumberFormat("en", { style: "percent" }).format(0.5),
      new Intl.DateTimeFormat("en", { timeZone: "UTC" }).format(new Date(0)),
      [...new Intl.Segmenter("en", { granularity: "word" }).segment("a b")].length,
      ["b", "a"].sort(new Intl.Collator("en").compare),
      (1234.5).toLocaleString("en"),
    ];
  },

  reflection() {
    const log: string[] = [];
    const proxy = new Proxy({ a: 1 } as any, {
      get: (target, key, self) => (log.push(String(key)), Reflect.get(target, key, self)),
      set: (target, key, value) => Reflect.set(target, key, value),
    });
    proxy.toString = () => "proxied";
    const object: any = { __proto__: { b: 2 } };
    object.__proto__ = { c: 3 };
    Object.defineProperty(object, "valueOf", { value: () => 9 });
    const listed = [];
    for (const key in object) listed.push(key);
    return [proxy.a, String(proxy), log.includes("a"), object.c, object.b, +object, listed];
  },

  data() {
    class Point { constructor(readonly x: number) {} toJSON() { return { at: this.x }; } }
    const bytes = new Uint8Array([3, 1, 2]).sort();
    const sorted = [{ n: 2 }, { n: 1 }].sort((one, other) => one.n - other.n);
    const grouped = Object.fromEntries(Object.entries({ a: 1 }).map(([k, v]) => [v, k]));
    return [JSON.stringify([new Point(1)]), [...bytes], sorted, grouped, 2n ** 64n + ""];
  },
};

export default definePlugin({ id: "ID", activate() {}, idioms } as any);
