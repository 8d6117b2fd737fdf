import type { Json } from "./context.js";

/** What every field of a settings schema has. */
export interface Field {
  /** Its name on the page; 1 to 80 characters. */
  readonly label: string;
  /** One sentence below it; at most 300 characters. */
  readonly help?: string;
}

/** A number. */
export interface NumberField extends Field {
  readonly type: "number";
  readonly default: number;
  readonly min?: number;
  readonly max?: number;
  /** Whether only whole numbers are accepted. */
  readonly integer?: boolean;
}

/** A switch. */
export interface BooleanField extends Field {
  readonly type: "boolean";
  readonly default: boolean;
}

/** A text. */
export interface TextField extends Field {
  readonly type: "text";
  readonly default: string;
  /** At least how many characters; 0 when absent. */
  readonly minLength?: number;
  /** At most how many characters; 1000 when absent, and never more than 10000. */
  readonly maxLength?: number;
  /** Whether it may have several lines. */
  readonly multiline?: boolean;
}

/** One of 1 to 50 values. */
export interface ChoiceField extends Field {
  readonly type: "choice";
  /** The `value` of one of the options. */
  readonly default: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

/** A field of a schema. */
export type SettingField = NumberField | BooleanField | TextField | ChoiceField;

/**
 * The settings of a plugin, by key, in the order the page shows them; at most 50.
 *
 * A key is 1 to 64 of `a-z A-Z 0-9 _ . : -`.
 */
export type SettingsSchema = { readonly [key: string]: SettingField };

/**
 * The plugin's own values, kept by the daemon across page loads.
 *
 * A key is 1 to 64 of `a-z A-Z 0-9 _ . : -`; a value is at most 64 KiB of JSON,
 * and all of a plugin's together at most 1 MiB.
 */
export interface Settings {
  /**
   * Return the value of `key`, or `undefined`.
   *
   * For a key of the schema, it is always a value that the schema allows: the default
   * when nothing else is stored.
   */
  get(key: string): Json | undefined;

  /** Return the value of `key` when it is of the fallback's type, else the fallback. */
  get(key: string, fallback: boolean): boolean;
  get(key: string, fallback: number): number;
  get(key: string, fallback: string): string;

  /**
   * Change a value: at once for `get`, and durably when the promise resolves.
   *
   * Writes go one after another; of several quick ones to a key the last is written.
   * A value that breaks the schema rejects with `RangeError`, what is no JSON with `TypeError`,
   * and a key or a size that nothing may have with `BridgeError`; none changes anything.
   */
  set(key: string, value: Json): Promise<void>;

  /**
   * Call `listener` after the user saved other settings, in this tab or another.
   *
   * @returns A function that ends this.
   */
  onChange(listener: () => void): () => void;
}
