/** What a realm's calls do: the services of the page, behind the plugin's gate. */

import {
  BridgeError,
  type HttpOptions,
  type Json,
  type Notification,
  type OscArgument,
  PermissionError,
  type SqlValue,
} from "@bridge/plugin-api";

import { GatedHttp } from "../http.js";
import { GatedNative } from "../native.js";
import { GatedOsc, type OscHub } from "../osc.js";
import type { Gate } from "../permissions.js";
import type { StoredSettings } from "../settings.js";
import { GatedSql } from "../sql.js";
import type { PluginCaller } from "../turns.js";
import { fields, list, text } from "../wire.js";
import type { Events } from "./events.js";
import type { CallName, Refusal } from "./wire.js";

const MOST_LISTENERS = 64;

type Args = readonly Json[];

/** Serves the calls of one plugin. */
export class Services {
  readonly #settings: StoredSettings;
  readonly #native: GatedNative;
  readonly #http: GatedHttp;
  readonly #sql: GatedSql;
  readonly #osc: GatedOsc;
  readonly #events: Events;
  readonly #ends = new Map<number, () => void>();
  #listeners = 0;

  constructor(
    settings: StoredSettings,
    caller: PluginCaller,
    gate: Gate,
    hub: OscHub,
    events: Events,
  ) {
    this.#settings = settings;
    this.#native = new GatedNative(caller, gate);
    this.#http = new GatedHttp(caller, gate);
    this.#sql = new GatedSql(caller, gate);
    this.#osc = new GatedOsc(hub, caller, gate);
    this.#events = events;
  }

  /** Do what a call asks for; the arguments may be anything. */
  async call(name: CallName, args: Args): Promise<unknown> {
    const [first, second, third] = args;
    switch (name) {
      case "settings.set":
        await this.#settings.set(text(first), second ?? null);
        return null;
      case "native.targets":
        return this.#native.targets();
      case "native.notify":
        return this.#native.notify(fields(first) as unknown as Notification);
      case "native.call":
        return this.#native.call(text(first), text(second), fields(third) as { [name: string]: Json });
      case "http.fetch":
        return this.#http.fetch(text(first), fields(second) as HttpOptions);
      case "osc.send":
        await this.#osc.send(text(first), ...(list(second) as OscArgument[]));
        return null;
      case "osc.listen":
        return this.#listen();
      case "osc.end":
        this.#ends.get(Number(first))?.();
        this.#ends.delete(Number(first));
        return null;
      case "sql.databases":
        return this.#sql.databases();
      case "sql.query":
        return this.#sql.query(
          text(first),
          text(second),
          list(third) as Exclude<SqlValue, object | number>[],
        );
    }
  }

  /** End every OSC listener. */
  silence(): void {
    this.#osc.silence();
    this.#ends.clear();
  }

  async #listen(): Promise<number> {
    if (this.#ends.size >= MOST_LISTENERS) {
      throw new BridgeError("rate_limited", `osc: at most ${MOST_LISTENERS} listeners`);
    }
    this.#listeners += 1;
    const listener = this.#listeners;
    const end = await this.#osc.listen((message) => this.#events.received(listener, message));
    this.#ends.set(listener, end);
    return listener;
  }
}

/** What the realm makes an error of. */
export function refusalOf(error: unknown): Refusal {
  const message = error instanceof Error ? error.message : "it failed";
  if (error instanceof BridgeError) {
    return { kind: "bridge", code: error.code, message };
  }
  const kinds = [
    [PermissionError, "permission"],
    [RangeError, "range"],
    [TypeError, "type"],
  ] as const;
  const kind = kinds.find(([known]) => error instanceof known)?.[1] ?? "error";
  return { kind, code: "", message };
}
