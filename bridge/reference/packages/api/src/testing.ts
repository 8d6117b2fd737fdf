/**
 * What unit tests of a plugin import: a context that needs neither a page nor a daemon.
 *
 * It records what the plugin does, answers as the test prepares it, and refuses what the
 * page would refuse: permissions, settings and URLs. The daemon's own rules, such as those
 * for addresses, are not checked.
 */

import type { Context, Json, Logger, Plugin } from "./context.js";
import { describe } from "./describe.js";
import { FakeScreen } from "./fakepage.js";
import {
  FakeGate,
  FakeHttp,
  FakeNative,
  FakeOsc,
  FakeSettings,
  FakeSql,
  argument,
} from "./fakeservices.js";
import { makeUi } from "./handles.js";
import type { HttpOptions } from "./http.js";
import type { Notification, NotificationResult, Target } from "./native.js";
import type { OscArgument, OscMessage, OscValue } from "./osc.js";
import type { Database, SqlValue } from "./sql.js";

/** What a test prepares. */
export interface FakeOptions {
  /** The permissions the plugin has; all that the context checks when absent. */
  readonly permissions?: readonly FakePermission[];
  /** The values that are stored already. */
  readonly settings?: { readonly [key: string]: Json };
  /**
   * Answer a request; throw `BridgeError` for one that gets no response.
   *
   * Without it, every request rejects.
   */
  readonly respond?: (url: string, options: HttpOptions) => FakeResponse | Promise<FakeResponse>;
  /** Answer a statement with its rows; without it, every statement rejects. */
  readonly query?: (
    database: string,
    sql: string,
    params: readonly (null | boolean | number | string)[],
  ) => readonly { readonly [column: string]: SqlValue }[];
  readonly databases?: readonly Database[];
  readonly targets?: readonly Target[];
  /**
   * Answer a notification; without it, the destination `fake` accepts each.
   *
   * What it throws is in `failed`, as on the page.
   */
  readonly notified?: (notification: Notification) => NotificationResult;
  /** Answer `ctx.native.call`; without it, with an empty object. */
  readonly called?: (method: string, params: { readonly [name: string]: Json }) => unknown;
}

/** A permission that the context checks. */
export type FakePermission = "native" | "network" | "osc" | "sql";

/** A response: by default, 200 with an empty body. */
export interface FakeResponse {
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
  /** Text; anything else is the JSON of it. */
  readonly body?: Json;
}

/** A line of the plugin's log. */
export interface FakeLine {
  readonly level: keyof Logger;
  readonly message: string;
}

/** A card that a plugin has added, as a test looks at it. */
export interface FakeCard {
  readonly title: string;
  /** Everything that is shown on it, in words, line by line. */
  readonly text: string;
  /** The labels of its buttons, in order. */
  readonly buttons: readonly string[];
  /** What its images show, in order. */
  readonly images: readonly string[];

  /**
   * Press the button with this label; resolves when what it does has ended.
   *
   * As on the page, what it throws goes to the plugin's log. Throws when there is no
   * such button, or it is disabled.
   */
  press(label: string): Promise<void>;

  /**
   * Write into the field with this label, and leave it; resolves when `changed` has
   * ended.
   *
   * A number that the field does not accept changes nothing. Throws when there is no
   * such field, or it is disabled.
   *
   * @param value `undefined` to empty the field.
   */
  write(label: string, value: string | number | undefined): Promise<void>;

  /** Return what is in the field with this label; throws when there is none. */
  value(label: string): string | number | undefined;

  /** Return the rows of the table with this caption; throws when there is none. */
  rows(caption: string): readonly (readonly string[])[];

  /** Return how far the progress bar with this label is; throws when there is none. */
  progress(label: string): number | undefined;
}

/** A context and what the plugin did with it. */
export interface Fake {
  /** What to call `activate` with. */
  readonly ctx: Context;
  /** The cards there are, in order. */
  readonly cards: readonly FakeCard[];
  readonly lines: readonly FakeLine[];
  readonly notifications: readonly Notification[];
  readonly requests: readonly { readonly url: string; readonly options: HttpOptions }[];
  /** The OSC messages that were sent. */
  readonly sent: readonly OscMessage[];
  /** The stored settings, without defaults. */
  readonly stored: { readonly [key: string]: Json };
  /** Whether an OSC listener is active. */
  readonly isListening: boolean;

  /** Let an OSC message arrive. */
  receive(address: string, ...args: readonly (OscValue | OscArgument)[]): void;

  /**
   * Save settings as the user does on the page.
   *
   * Throws `RangeError` for a key that is not in the schema, or a value it does not
   * allow.
   */
  save(values: { readonly [key: string]: Json }): void;

  /**
   * Switch the plugin off: call `deactivate`, remove its cards, end its listeners, and
   * let the context refuse every later call.
   */
  switchOff(): Promise<void>;
}

const ALL: readonly FakePermission[] = ["native", "network", "osc", "sql"];

/**
 * Make a context for a plugin; it does not activate it.
 *
 * @param plugin What `main.ts` exports by default.
 * @throws RangeError Its settings break a rule; the message names the field and the rule.
 */
export function fakeContext(plugin: Plugin, options: FakeOptions = {}): Fake {
  const lines: FakeLine[] = [];
  const note = (level: keyof Logger) => (message: string) => {
    lines.push({ level, message: String(message) });
  };
  const logger: Logger = {
    debug: note("debug"),
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
  };
  const failed = (error: unknown): void =>
    logger.error(`a listener failed: ${describe(error)}`);
  const gate = new FakeGate(options.permissions ?? ALL);
  const settings = new FakeSettings(plugin.settings, options.settings ?? {}, failed);
  const screen = new FakeScreen(logger);
  const ui = makeUi(screen);
  const native = new FakeNative(gate, options);
  const http = new FakeHttp(gate, options);
  const osc = new FakeOsc(gate, failed);
  const sql = new FakeSql(gate, options);
  return {
    ctx: { id: plugin.id, logger, settings, ui, native, http, osc, sql },
    cards: screen.cards,
    lines,
    notifications: native.notifications,
    requests: http.requests,
    sent: osc.sent,
    get stored() {
      return Object.fromEntries(settings.values);
    },
    get isListening() {
      return osc.listeners.size > 0;
    },
    receive: (address, ...args) => osc.receive({ address, args: args.map(argument) }),
    save: (values) => settings.save(values),
    async switchOff() {
      await plugin.deactivate?.();
      gate.close();
      osc.listeners.clear();
      screen.clear();
    },
  };
}
