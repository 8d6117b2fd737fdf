/** The plugins of the page: their switches, permissions, settings, and safe mode. */

import type { Installed } from "./grants.js";
import type { PermissionWords } from "./permissionwords.js";
import type { Stage } from "./plugins.js";
import type { Schema } from "./schema.js";
import type { Saving, Values } from "./settings.js";

/** A plugin of this bundle. */
export interface PluginState {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly stage: Stage;
  /** Why it failed, or why it still waits; empty otherwise. */
  readonly error: string;
  /** The position of its switch. */
  readonly enabled: boolean;
  /** Whether it runs and does not answer. */
  readonly silent: boolean;
}

/** Whether a switch was saved; the plugin runs or not accordingly. */
export type Switched = "done" | "not-saved";

/** A permission of a plugin. */
export interface PermissionState extends PermissionWords {
  /** Its id, such as `network`. */
  readonly permission: string;
  /** Whether the plugin can do without it. */
  readonly optional: boolean;
  /** What the manifest names: hosts, events or actions. */
  readonly named: readonly string[];
  /** What the user allowed, such as hosts; empty while nothing is. */
  readonly granted: readonly { readonly target: string; readonly words: string }[];
}

/** Whether the page runs without plugins. */
export interface SafeMode {
  readonly active: boolean;
}

/** What the page's views can do with plugins. */
export interface Runtime {
  /** The plugins of this bundle, those in safe mode and switched off included. */
  plugins(): readonly PluginState[];
  /** The position of a plugin's switch; also of one that is not in this bundle. */
  enabled(id: string): boolean;
  setEnabled(id: string, on: boolean): Promise<Switched>;

  /** The permissions of a plugin of this bundle, risky ones first. */
  grants(id: string): Promise<readonly PermissionState[]>;
  /**
   * Revoke what the user allowed under a permission; the plugin has to ask again.
   *
   * @returns Whether that is saved; otherwise nothing has changed.
   */
  revoke(id: string, permission: string): Promise<boolean>;

  /**
   * The settings a plugin declares; empty when it has none.
   *
   * `undefined` while it is not loaded: it does not run, or could not be.
   */
  settingsSchema(id: string): Schema | undefined;
  /** The values of the schema by key, defaults included. */
  settings(id: string): Values;
  saveSettings(id: string, values: Values): Promise<Saving>;
  /** Return every setting of the schema to its default. */
  resetSettings(id: string): Promise<Saving>;

  /** The daemon listed what is installed: remove the grants and switches of what is not. */
  installed(plugins: readonly Installed[]): Promise<void>;

  readonly safeMode: SafeMode;
  /** Start the plugins that are on. */
  leaveSafeMode(): Promise<void>;
  /** The page is being left: end every plugin. */
  close(): void;

  /**
   * Call `change` whenever anything above may have changed.
   *
   * @returns A function that ends this.
   */
  on(change: () => void): () => void;
}
