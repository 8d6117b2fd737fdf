import { BridgeError, type Json, type Settings } from "@bridge/plugin-api";

import { problemOf, valueOf } from "../../api/src/settingrules.js";
import type { Caller } from "./link.js";
import { type KeyedField, type Schema, valuesOf } from "./schema.js";
import { Signal } from "./signal.js";

// The daemon has twice as much for each plugin, which other pages may have filled.
const MOST_BYTES = 1_048_576;

/** The values of a form, by key. */
export type Values = { readonly [key: string]: Json };

/** What became of a form. */
export type Saving =
  | { readonly outcome: "saved" | "not-saved" }
  /** Nothing was saved; a sentence for each field with a value it does not allow. */
  | { readonly outcome: "invalid"; readonly problems: { readonly [key: string]: string } };

/**
 * What the user changed in a form; what they did not may have been changed elsewhere.
 *
 * @param shown The values that it showed.
 * @param draft What is in the fields that were touched.
 */
export function changesOf(schema: Schema, shown: Values, draft: Values): Values {
  const changes = schema
    .filter(({ key }) => key in draft)
    .map((field) => [field.key, readValue(field, draft[field.key] as Json)] as const)
    .filter(([key, value]) => value !== shown[key]);
  return Object.fromEntries(changes);
}

/** The value of what is in a field: a number is written as a text. */
export function readValue(field: KeyedField, written: Json): Json {
  if (field.type !== "number" || typeof written !== "string") {
    return written;
  }
  return written.trim() === "" ? "" : Number(written);
}

/** A plugin's own values, in the daemon's state store. */
export class StoredSettings implements Settings {
  readonly #page: Caller;
  readonly #plugin: Caller;
  readonly #namespace: string;
  readonly #values: Map<string, Json>;
  readonly #bytes = new Map<string, number>();
  readonly #unwritten = new Set<string>();
  #written = "";
  readonly #changed = new Signal();
  #schema: Schema = [];
  #writing: Promise<void> | undefined;

  constructor(page: Caller, plugin: Caller, namespace: string, values: Map<string, Json>) {
    this.#page = page;
    this.#plugin = plugin;
    this.#namespace = namespace;
    this.#values = values;
    for (const [key, value] of values) {
      this.#keep(key, value);
    }
  }

  /**
   * Read the settings of the plugin `id`.
   *
   * @param page For what the user does.
   * @param plugin For what the plugin does.
   */
  static async read(page: Caller, plugin: Caller, id: string): Promise<StoredSettings> {
    const namespace = namespaceOf(id);
    const values = new Map(Object.entries(await listed(page, namespace)));
    return new StoredSettings(page, plugin, namespace, values);
  }

  /** Every value that is stored, by key. */
  get all(): Values {
    return Object.fromEntries(this.#values);
  }

  /** The values of the schema, by key. */
  get form(): Values {
    return valuesOf(this.#schema, (key) => this.#values.get(key));
  }

  /** Hold the values to a schema from now on. */
  declare(schema: Schema): void {
    this.#schema = schema;
  }

  get(key: string): Json | undefined;
  get(key: string, fallback: boolean): boolean;
  get(key: string, fallback: number): number;
  get(key: string, fallback: string): string;
  get(key: string, fallback?: Json): Json | undefined {
    const field = this.#field(key);
    const stored = this.#values.get(key);
    const value = field === undefined ? stored : valueOf(field, stored);
    const usable = fallback === undefined || typeof value === typeof fallback;
    return usable ? value : fallback;
  }

  set(key: string, value: Json): Promise<void> {
    const field = this.#field(key);
    const problem = field === undefined ? "" : problemOf(field, value);
    if (problem !== "") {
      return Promise.reject(new RangeError(`${key}: ${problem}`));
    }
    if (this.#bytesWith(key, value) > MOST_BYTES) {
      const words = `settings: over ${MOST_BYTES} bytes of JSON`;
      return Promise.reject(new BridgeError("too_large", words));
    }
    this.#keep(key, value);
    this.#unwritten.add(key);
    this.#writing ??= this.#write();
    return this.#writing;
  }

  onChange(listener: () => void): () => void {
    return this.#changed.listen(listener);
  }

  /** Take other values over, as the user saved them; what is being written stays. */
  replace(values: Values): void {
    const written = this.#writing === undefined ? [] : [...this.#unwritten, this.#written];
    const kept = [...this.#values].filter(([key]) => written.includes(key));
    this.#values.clear();
    this.#bytes.clear();
    for (const [key, value] of [...Object.entries(values), ...kept]) {
      this.#keep(key, value);
    }
    this.#changed.emit();
  }

  /** Save what the user entered; keys that are not in the schema are ignored. */
  async save(values: Values): Promise<Saving> {
    const entered = this.#schema.filter(({ key }) => Object.hasOwn(values, key));
    const problems = entered
      .map((field) => [field.key, problemOf(field, values[field.key])] as const)
      .filter(([, problem]) => problem !== "");
    if (problems.length > 0) {
      return { outcome: "invalid", problems: Object.fromEntries(problems) };
    }
    return this.#store(entered.map(({ key }) => key), (key) => values[key]);
  }

  /** Return every field of the schema to its default. */
  reset(): Promise<Saving> {
    return this.#store(this.#schema.map(({ key }) => key), () => undefined);
  }

  #keep(key: string, value: Json): void {
    this.#values.set(key, value);
    this.#bytes.set(key, bytesOf(key, value));
  }

  #bytesWith(key: string, value: Json): number {
    const others = [...this.#bytes].filter(([other]) => other !== key);
    return others.reduce((sum, [, bytes]) => sum + bytes, bytesOf(key, value));
  }

  #field(key: string): Schema[number] | undefined {
    return this.#schema.find((field) => field.key === key);
  }

  // Unlike with `set`, a value counts only once it is durable: the form reports either.
  async #store(
    keys: readonly string[],
    valueFor: (key: string) => Json | undefined,
  ): Promise<Saving> {
    let outcome: "saved" | "not-saved" = "saved";
    try {
      for (const key of keys) {
        await this.#storeOne(key, valueFor(key));
      }
    } catch {
      outcome = "not-saved";
    }
    try {
      // Another page may have saved others.
      this.replace(await listed(this.#page, this.#namespace));
    } catch {
      this.#changed.emit();
    }
    return { outcome };
  }

  async #storeOne(key: string, value: Json | undefined): Promise<void> {
    const ns = this.#namespace;
    if (value === undefined) {
      await this.#page.call("state/delete", { ns, key });
      this.#values.delete(key);
      this.#bytes.delete(key);
    } else {
      await this.#page.call("state/set", { ns, key, value });
      this.#keep(key, value);
    }
  }

  async #write(): Promise<void> {
    let failure: unknown;
    for (const key of this.#unwritten) {
      // A key set again while it is being written comes round once more.
      this.#unwritten.delete(key);
      this.#written = key;
      const value = this.#values.get(key);
      try {
        await this.#plugin.call("state/set", { ns: this.#namespace, key, value });
      } catch (e) {
        failure ??= e;
      }
    }
    this.#writing = undefined;
    if (failure !== undefined) {
      throw failure;
    }
  }
}

async function listed(page: Caller, ns: string): Promise<Values> {
  return (await page.call("state/list", { ns })).entries as Values;
}

function namespaceOf(id: string): string {
  return `plugin:${id}`;
}

function bytesOf(key: string, value: Json): number {
  return new TextEncoder().encode(JSON.stringify([key, value])).length;
}

/**
 * Remove what a plugin of this page has stored after it was uninstalled.
 *
 * The daemon removes its settings with it, but a write may have been on its way.
 */
export async function forgetSettings(page: Caller, id: string): Promise<void> {
  const ns = namespaceOf(id);
  for (const key of Object.keys(await listed(page, ns))) {
    await page.call("state/delete", { ns, key });
  }
}
