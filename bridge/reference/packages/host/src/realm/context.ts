/** The context of a plugin, in its realm. */

import type {
  Context,
  Http,
  HttpResponse,
  Json,
  Logger,
  Native,
  Osc,
  OscMessage,
  Settings,
  Sql,
} from "@bridge/plugin-api";

import { makeUi } from "../../../api/src/handles.js";
import type { Environment } from "../environment.js";
import { type Level, Log, PLUGIN_LINES } from "../log.js";
import { StoredSettings, type Values } from "../settings.js";
import type { Recorder } from "./recorder.js";
import type { Sender } from "./sender.js";
import type { CallName } from "./wire.js";

// One less than the page logs: the line that counts the rest is another.
const LINES = { perSecond: PLUGIN_LINES.perSecond - 1, burst: PLUGIN_LINES.burst - 1 };

type Listener = (message: OscMessage) => void;

/** The context, and what it takes from the page. */
export interface RealmContext {
  readonly context: Context;
  readonly settings: StoredSettings;
  /** OSC messages arrived for the listener with that number. */
  received(listener: number, message: OscMessage): void;
}

/** Make the context of the plugin `id`. */
export function makeContext(
  id: string,
  stored: Values,
  sender: Sender,
  recorder: Recorder,
  environment: Environment,
): RealmContext {
  const write = (key: string, value: Json): Promise<Json> =>
    sender.call("settings.set", [key, value]);
  const settings = new StoredSettings(write, stored);
  const safely = (listener: () => void): void => {
    try {
      listener();
    } catch (e) {
      recorder.failed("a listener", e);
    }
  };
  const listeners = new Map<number, Listener>();
  return {
    settings,
    context: {
      id,
      logger: loggerOf(id, sender, environment),
      settings: {
        get: ((key: string, fallback: never) => settings.get(key, fallback)) as Settings["get"],
        set: async (key, value) => settings.set(String(key), value),
        onChange: (listener) => settings.onChange(() => safely(listener)),
      },
      ui: makeUi(recorder),
      native: nativeOf(sender),
      http: httpOf(sender),
      osc: oscOf(sender, listeners),
      sql: sqlOf(sender),
    },
    received(listener, message) {
      safely(() => listeners.get(listener)?.(message));
    },
  };
}

function loggerOf(id: string, sender: Sender, environment: Environment): Logger {
  const record = (level: Level, _: string, text: string): void =>
    sender.change({ op: "log", level, text });
  return new Log(environment, record, LINES).scope(id);
}

/** Call the page; what it answers is what the API describes. */
async function ask<Answer>(sender: Sender, name: CallName, ...args: unknown[]): Promise<Answer> {
  return (await sender.call(name, args)) as unknown as Answer;
}

function nativeOf(sender: Sender): Native {
  return {
    targets: () => ask(sender, "native.targets"),
    notify: (notification) => ask(sender, "native.notify", notification),
    call: (service, method, params = {}) =>
      ask(sender, "native.call", String(service), String(method), params),
  };
}

function httpOf(sender: Sender): Http {
  return {
    async fetch(url, options = {}) {
      const response = await ask<Omit<HttpResponse, "json">>(sender, "http.fetch", String(url), options);
      return { ...response, json: () => JSON.parse(response.body) as Json };
    },
  };
}

function oscOf(sender: Sender, listeners: Map<number, Listener>): Osc {
  return {
    async send(address, ...args) {
      await sender.call("osc.send", [String(address), args]);
    },
    async listen(listener) {
      const number = Number(await sender.call("osc.listen", []));
      listeners.set(number, listener);
      return () => {
        if (listeners.delete(number)) {
          // It ends with the plugin at the latest.
          sender.call("osc.end", [number]).catch(() => undefined);
        }
      };
    },
  };
}

function sqlOf(sender: Sender): Sql {
  return {
    databases: () => ask(sender, "sql.databases"),
    query: (database, sql, params = []) =>
      ask(sender, "sql.query", String(database), String(sql), [...params]),
  };
}
