// A plugin that hands over everything it can get hold of.
import * as api from "@bridge/plugin-api";

const names = () => ({ NAMES });

const strict = function (...all: unknown[]) { return [arguments, ...all]; };
const thrown = (work: () => unknown) => {
  try { return work(); } catch (e) { return e; }
};
const makers: (() => unknown)[] = [
  () => ({}),
  () => [],
  () => /a/g.exec("a"),
  () => () => {},
  () => function () {},
  () => class A extends Array { static b = 1; },
  () => async () => {},
  () => function* () {},
  () => async function* () {},
  () => (async () => {})(),
  () => (function* () { yield 1; })(),
  () => (async function* () { yield 1; })(),
  () => api,
  () => strict(1),
  () => strict.bind(null),
  () => [1].values(),
  () => [1].values().map(String),
  () => (Iterator as any).from({ next: () => ({ done: true }) }),
  () => (Iterator as any).concat([1], [2]),
  () => "a"[Symbol.iterator](),
  () => "a".matchAll(/a/g),
  () => new Map([[1, 2]]).entries(),
  () => new Set([1]).values(),
  () => new WeakRef({}),
  () => new FinalizationRegistry(() => {}),
  () => new Proxy({}, {}),
  () => new Promise(() => {}),
  () => (Promise as any).withResolvers(),
  () => new Uint8Array(2),
  () => (Uint8Array as any).fromHex?.("00"),
  () => new DataView(new ArrayBuffer(2)),
  () => (Atomics as any).waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1),
  () => new Intl.Segmenter("en", { granularity: "word" }).segment("a b"),
  () => new Intl.Segmenter("en").segment("a b")[Symbol.iterator](),
  () => new (Intl as any).DisplayNames("en", { type: "region" }),
  () => new (Intl as any).DurationFormat("en"),
  () => new (Intl as any).Locale("en"),
  () => new Intl.DateTimeFormat("en").formatToParts(),
  () => new Intl.NumberFormat("en").format,
  () => new URL("https://a.test/?b=c").searchParams,
  () => new URLSearchParams("b=c").entries(),
  () => (URL as any).parse("https://a.test/"),
  () => new TextEncoder().encode("a"),
  () => structuredClone(new Error("a")),
  () => structuredClone({ a: new Map(), b: new Date() }),
  () => thrown(() => structuredClone(() => {})),
  () => thrown(() => atob("*")),
  () => thrown(() => new URL("no URL")),
  () => thrown(() => (null as any).a),
  () => thrown(() => decodeURIComponent("%")),
  () => (JSON as any).rawJSON?.("1"),
  () => Object.groupBy([1], () => "a"),
  () => new (DisposableStack as any)(),
  () => crypto.getRandomValues(new Uint8Array(1)),
  () => setTimeout(() => {}, 1),
  () => queueMicrotask,
  () => thrown(() => (Error as any).captureStackTrace({})),
  () => { const holder = {}; (Error as any).captureStackTrace(holder); return holder; },
  () => new (SuppressedError as any)(1, 2),
  () => new AggregateError([1]),
  () => new Error("a", { cause: {} }),
  () => Promise.allSettled([1]),
  () => (Array as any).fromAsync([1]),
  () => /(?<a>a)/d.exec("a"),
  () => ((parts: unknown) => parts)`a${1}`,
  () => new (AsyncDisposableStack as any)(),
  () => structuredClone(new DOMException("a")),
  () => structuredClone(new Int8Array(1).subarray(0)),
  () => new Intl.ListFormat("en").formatToParts(["a"]),
  () => (Iterator as any).zip?.([[1]]),
  () => [1].values().flatMap((one) => [one]),
  () => (new Date() as any).toTemporalInstant?.(),
  () => (async function* () { yield* [1]; })().next(),
  () => new (WeakMap as any)([[{}, 1]]),
  () => Object.getOwnPropertyDescriptors(strict),
  () => new URL("https://a.test").searchParams,
  () => (RegExp as any).escape?.("a"),
  () => new TextDecoder(),
  () => Object.entries({ a: 1 })[Symbol.iterator](),
  () => (Atomics as any).pause,
];

let ctx: any;

async function ofContext(): Promise<{ [name: string]: unknown }> {
  const card = ctx.ui.card("A card");
  const messages: unknown[] = [];
  const ended = ctx.osc.listen((message: unknown) => messages.push(message));
  const settled = async (work: () => Promise<unknown>) => {
    try { return await work(); } catch (e) { return e; }
  };
  await ended;
  await ctx.osc.send("/a", 1);
  const promises: { [name: string]: Promise<unknown> } = {
    ended,
    targets: ctx.native.targets(),
    notified: ctx.native.notify({ title: "a" }),
    called: ctx.native.call("notify", "send", {}),
    saved: ctx.settings.set("a", { b: [1] }),
    fetched: ctx.http.fetch("https://a.test/"),
    databases: ctx.sql.databases(),
    rows: ctx.sql.query("a", "SELECT 1"),
    sent: ctx.osc.send("/a"),
  };
  const failures = {
    service: await settled(() => ctx.native.call("state", "list")),
    url: await settled(() => ctx.http.fetch("no URL")),
    refused: await settled(() => ctx.native.call("notify", "refused")),
    title: thrown(() => ctx.ui.card("")),
    words: thrown(() => ctx.ui.card("a").text({})),
  };
  const results: { [name: string]: unknown } = {};
  for (const [name, promise] of Object.entries(promises)) results[name] = await promise;
  return {
    ...{ ctx, card, messages, promises, results, failures },
    setting: ctx.settings.get("a"),
    changed: ctx.settings.onChange(() => {}),
    text: card.text("a"),
    button: card.button("a", () => {}),
    input: card.input("a", {}),
    number: card.number("a", {}),
    table: card.table("a", ["b"]),
    progress: card.progress("a", 1),
  };
}

export default api.definePlugin({
  id: "ID",
  activate(given: unknown) { ctx = given; },
  async reach() {
    const made = makers.map((make) => thrown(make));
    return { names: names(), made, api: { ...api }, context: await ofContext() };
  },
} as any);
