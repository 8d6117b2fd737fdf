/**
 * The script before a plugin's text, in the worker that is its realm.
 *
 * It is bundled alone and kept in the table as a text.
 */

import { API_VERSION, BridgeError, type Logger, PermissionError, definePlugin } from "@bridge/plugin-api";

import { browser } from "../environment.js";
import { fields } from "../wire.js";
import { consoleOf } from "./console.js";
import { Realm } from "./realm.js";

// The policy and the origin of the realm refuse most of these already.
const OPEN = [
  "BroadcastChannel",
  "EventSource",
  "FileReaderSync",
  "FontFace",
  "Notification",
  "RTCPeerConnection",
  "SharedWorker",
  "WebSocket",
  "WebSocketStream",
  "WebTransport",
  "Worker",
  "XMLHttpRequest",
  "caches",
  "cookieStore",
  "fetch",
  "fonts",
  "importScripts",
  "indexedDB",
  // These queue work for the thread that all realms share with their frame.
  "PerformanceObserver",
  "postMessage",
  "reportError",
];
// So do the parts of `navigator`, and any that a browser will add. These are only values.
const FACTS = [
  "appCodeName",
  "appName",
  "appVersion",
  "deviceMemory",
  "globalPrivacyControl",
  "hardwareConcurrency",
  "language",
  "languages",
  "onLine",
  "platform",
  "product",
  "userAgent",
];
// So does a text for these, which the policy refuses each time.
const { setTimeout: delayed, setInterval: repeated } = globalThis;

const parts: string[] = [];
for (const name in navigator) {
  parts.push(name);
}
take(navigator, parts.filter((name) => !FACTS.includes(name)));
take(globalThis, [...OPEN, "setTimeout", "setInterval"]);

function take(all: object, names: readonly string[]): void {
  for (let from: object | null = all; from !== null; from = Object.getPrototypeOf(from) as object | null) {
    for (const name of names) {
      Reflect.deleteProperty(from, name);
    }
  }
}

Object.assign(globalThis, { setTimeout: ofFunction(delayed), setInterval: ofFunction(repeated) });

function ofFunction<Rest extends readonly unknown[]>(start: (work: () => void, ...rest: Rest) => unknown) {
  return (work: unknown, ...rest: Rest): unknown => {
    if (typeof work !== "function") {
      throw new TypeError("a timer takes a function");
    }
    return start(work as () => void, ...rest);
  };
}

// An opaque origin is no secure context in every browser.
crypto.randomUUID ??= (): ReturnType<Crypto["randomUUID"]> => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5") as ReturnType<
    Crypto["randomUUID"]
  >;
};

// As they are before the plugin runs, which may replace both.
const { apply } = Reflect;
const { preventDefault } = Event.prototype;

const scope = globalThis as unknown as {
  /** What `@bridge/plugin-api` is for the plugin. */
  __pluginApi: object;
  /** Take the function that runs the plugin's text and returns its exports. */
  __realm?: (run: () => unknown) => void;
};
scope.__pluginApi = Object.freeze({ API_VERSION, BridgeError, PermissionError, definePlugin });
scope.__realm = (run) => {
  delete scope.__realm;
  const take = ({ ports: [port] }: MessageEvent): void => {
    removeEventListener("message", take);
    if (port === undefined) {
      return;
    }
    const post = (text: string): void => port.postMessage(text);
    const load = (logger: Logger): unknown => {
      // The browser's own queues each line for the shared thread, too.
      globalThis.console = consoleOf(logger, console);
      return fields(run())["default"];
    };
    const realm = new Realm(post, load, browser);
    port.onmessage = ({ data }: MessageEvent<string>): void => realm.receive(data);
    addEventListener("unhandledrejection", (event) => {
      apply(preventDefault, event, []);
      realm.failed("callback", event.reason, "a promise");
    });
    addEventListener("error", (event) => {
      apply(preventDefault, event, []);
      realm.failed("callback", event.error ?? event.message, "a function");
    });
  };
  addEventListener("message", take);
};
