/** The context of a plugin, in its realm. */

import type {
  Context,
  Database,
  Http,
  HttpResponse,
  Json,
  Logger,
  Native,
  NotificationResult,
  Osc,
  OscMessage,
  Settings,
  Sql,
  SqlResult,
  Target,
} from "@bridge/plugin-api";

import { makeUi } from "../../../api/src/handles.js";
import type { Environment } from "../environment.js";
import { type Level, Log, PLUGIN_LINES } from "../log.js";
import { StoredSettings } from "../settings.js";
import type { Recorder } from "./recorder.js";
import type { Sender } from "./sender.js";
import type { Values } from "./wire.js";

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
  const failed = (error: unknown): void => recorder.failed("a listener", error);
  const settings = settingsOf(stored, sender, failed);
  const listeners = new Map<number, Listener>();
  return {
    settings,
    context: {
      id,
      logger: loggerOf(id, sender, environment),
      settings: {
        get: ((key: string, fallback: never) => settings.get(key, fallback)) as Settings["get"],
        set: async (key, value) => settings.set(String(key), value),
        onChange: (listener) => settings.onChange(listener),
      },
      ui: makeUi(recorder),
      native: nativeOf(sender),
      http: httpOf(sender),
      osc: oscOf(sender, listeners),
      sql: sqlOf(sender),
    },
    received(listener, message) {
      try {
        listeners.get(listener)?.(message);
      } catch (e) {
        failed(e);
      }
    },
  };
}

function settingsOf(
  stored: Values,
  sender: Sender,
  failed: (error: unknown) => void,
): StoredSettings {
  const values = new Map(Object.entries(stored));
  const caller = {
    call: (_method: string, { key, value }: Values = {}) =>
      sender.call("settings.set", [key, value]),
  };
  return new StoredSettings(caller as never, caller as never, "", values, failed);
}

function loggerOf(id: string, sender: Sender, environment: Environment): Logger {
  const record = (level: Level, _: string, text: string): void =>
    sender.change({ op: "log", level, text });
  return new Log(environment, record, LINES).scope(id);
}

function nativeOf(sender: Sender): Native {
  const call = (name: "native.targets" | "native.notify" | "native.call", ...args: unknown[]) =>
    sender.call(name, args) as Promise<unknown>;
  return {
    targets: () => call("native.targets") as Promise<readonly Target[]>,
    notify: (notification) => call("native.notify", notification) as Promise<NotificationResult>,
    call: (service, method, params = {}) =>
      call("native.call", String(service), String(method), params),
  };
}

function httpOf(sender: Sender): Http {
  return {
    async fetch(url, options = {}) {
      const answer: unknown = await sender.call("http.fetch", [String(url), options]);
      const response = answer as Omit<HttpResponse, "json">;
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
    databases: () => sender.call("sql.databases", []) as Promise<unknown> as Promise<readonly Database[]>,
    query: (database, sql, params = []) =>
      sender.call("sql.query", [String(database), String(sql), [...params]]) as Promise<unknown> as Promise<SqlResult>,
  };
}
