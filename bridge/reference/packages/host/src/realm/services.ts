/** What a realm's calls do: the services of the page, behind the plugin's gate. */

import {
  BridgeError,
  type HttpOptions,
  type Json,
  type Notification,
  type OscMessage,
  PermissionError,
} from "@bridge/plugin-api";

import { concurrencyLimiter } from "../concurrency.js";
import { fetchFor } from "../http.js";
import { GatedNative } from "../native.js";
import type { OscHub } from "../osc.js";
import type { Gate } from "../permissions.js";
import type { StoredSettings } from "../settings.js";
import type { PluginCaller } from "../turns.js";
import { fields, list, text } from "../wire.js";
import type { Events } from "./events.js";
import type { CallName, Refusal } from "./wire.js";

const MOST_LISTENERS = 64;

// Half of what the daemon does at once for a page: one plugin's leave a place to others'.
const FETCHES_AT_ONCE = 4;
const STATEMENTS_AT_ONCE = 1;

// A statement may take five seconds, and wait for others of this page before that.
const STATEMENT_MILLISECONDS = 15_000;

type Args = readonly Json[];

/** Serves the calls of one plugin. */
export class Services {
  readonly #settings: StoredSettings;
  readonly #caller: PluginCaller;
  readonly #gate: Gate;
  readonly #native: GatedNative;
  readonly #hub: OscHub;
  readonly #events: Events;
  readonly #fetches = concurrencyLimiter(FETCHES_AT_ONCE);
  readonly #statements = concurrencyLimiter(STATEMENTS_AT_ONCE);
  /** What ends each OSC listener. */
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
    this.#caller = caller;
    this.#gate = gate;
    this.#native = new GatedNative(caller, gate);
    this.#hub = hub;
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
        return fetchFor(
          this.#caller,
          this.#gate,
          this.#fetches,
          text(first),
          fields(second) as HttpOptions,
        );
      case "osc.send":
        await this.#gate.pass("osc", "*");
        await this.#caller.call("osc/send", { address: text(first), args: list(second) as number[] });
        return null;
      case "osc.listen":
        return this.#listen();
      case "osc.end":
        return this.#end(Number(first));
      case "sql.databases":
        await this.#gate.pass("sql", "*");
        return (await this.#caller.call("sql/databases")).databases;
      case "sql.query":
        await this.#gate.pass("sql", "*");
        return this.#statements(() =>
          this.#caller.call(
            "sql/query",
            { database: text(first), sql: text(second), params: list(third) as string[] },
            { timeoutMs: STATEMENT_MILLISECONDS },
          ),
        );
    }
  }

  /** End every OSC listener of the plugin, also one that is being added. */
  silence(): void {
    this.#ends.forEach((end) => end());
    this.#ends.clear();
  }

  #end(listener: number): void {
    this.#ends.get(listener)?.();
    this.#ends.delete(listener);
  }

  async #listen(): Promise<number> {
    if (this.#ends.size >= MOST_LISTENERS) {
      throw new BridgeError("rate_limited", `osc: at most ${MOST_LISTENERS} listeners`);
    }
    this.#listeners += 1;
    const listener = this.#listeners;
    // Its place, while others ask for theirs.
    this.#ends.set(listener, () => undefined);
    try {
      await this.#gate.pass("osc", "*");
      const heard = (message: OscMessage): void =>
        this.#gate.keeps("osc") ? this.#events.received(listener, message) : this.#end(listener);
      const end = await this.#hub.listen(heard, this.#caller);
      if (!this.#ends.has(listener)) {
        end();
        throw new PermissionError("the user does not allow osc any more");
      }
      this.#ends.set(listener, end);
      return listener;
    } catch (error) {
      this.#ends.delete(listener);
      throw error;
    }
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
