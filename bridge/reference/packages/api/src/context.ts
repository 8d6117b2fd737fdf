import type { Http } from "./http.js";
import type { Native } from "./native.js";
import type { Osc } from "./osc.js";
import type { Settings, SettingsSchema } from "./settings.js";
import type { Sql } from "./sql.js";
import type { Ui } from "./ui.js";

/** Any JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/**
 * A plugin, as its `main.ts` exports it by default.
 *
 * It runs in a worker of its own: there is no `window` and no `document`, and the network
 * is reached by the context only. Timers, `URL`, `TextEncoder`, `structuredClone`, `Intl`,
 * `crypto.getRandomValues`, `crypto.randomUUID` and `OffscreenCanvas` are there;
 * `crypto.subtle` is not.
 */
export interface Plugin {
  /** The same id as in `plugin.json`. */
  readonly id: string;

  /**
   * The settings the user may change on the page.
   *
   * A schema that breaks a rule keeps the plugin from starting; the page shows which.
   */
  readonly settings?: SettingsSchema;

  /**
   * Start the plugin, once the daemon is connected and the settings are read.
   *
   * What it throws is shown next to the plugin's name.
   */
  activate(ctx: Context): void | Promise<void>;

  /**
   * Save what is left: the user switches the plugin off, and a second after this it ends.
   *
   * Its timers, cards and listeners end with it. This is not called when the page is reloaded or
   * closed, so save what must not be lost when it changes.
   */
  deactivate?(): void | Promise<void>;
}

/** Everything a plugin can do. */
export interface Context {
  /** The plugin's own id. */
  readonly id: string;
  readonly logger: Logger;
  readonly settings: Settings;
  readonly ui: Ui;
  readonly native: Native;
  readonly http: Http;
  readonly osc: Osc;
  readonly sql: Sql;
}

/** Lines in the page's log and in the daemon's log file, under the plugin's id. */
export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}
