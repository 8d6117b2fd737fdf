import type { Native } from "./native.js";
import type { Ui } from "./ui.js";

/** Any JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** A plugin, as its `main.ts` exports it by default. */
export interface Plugin {
  /** The same id as in `plugin.json`. */
  readonly id: string;

  /**
   * Start the plugin; called once per page, when the daemon is connected and the
   * plugin's settings are read.  What it throws is shown next to its name.
   */
  activate(ctx: Context): void | Promise<void>;
}

/** Everything a plugin can do. */
export interface Context {
  /** The plugin's own id. */
  readonly id: string;
  readonly logger: Logger;
  readonly settings: Settings;
  readonly ui: Ui;
  readonly native: Native;
}

/** Lines in the page's log and in the daemon's log file, under the plugin's id. */
export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/**
 * The plugin's own values, kept by the daemon across page loads.
 *
 * A key is 1 to 64 of `a-z A-Z 0-9 _ . : -`; a value is at most 64 KiB of JSON.
 */
export interface Settings {
  /** The value of `key`, or `undefined`. */
  get(key: string): Json | undefined;

  /** The value of `key` when it is of the fallback's type, else the fallback. */
  get(key: string, fallback: boolean): boolean;
  get(key: string, fallback: number): number;
  get(key: string, fallback: string): string;

  /**
   * Change a value: at once for `get`, and durably when the promise resolves.
   *
   * Writes go one after another; of several quick ones to a key the last is written.
   */
  set(key: string, value: Json): Promise<void>;
}
