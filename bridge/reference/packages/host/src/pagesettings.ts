/** The settings of plugins as the user reads and changes them, in the daemon's state store. */

import type { Json } from "@bridge/plugin-api";

import type { KeyedField, Schema } from "../../api/src/schemarules.js";
import { problemOf } from "../../api/src/settingrules.js";
import { readEntries, storeEntry } from "./entries.js";
import type { Caller } from "./link.js";
import { describe } from "./log.js";
import { StoredSettings, type Values } from "./settings.js";

/** What became of a form. */
export type Saving =
  | { readonly outcome: "saved" }
  /** Not all was saved; the labels of the fields that were not, or the id where none runs; why. */
  | { readonly outcome: "not-saved"; readonly labels: readonly string[]; readonly reason: string }
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

/** The values of one plugin. */
export class PageSettings extends StoredSettings {
  readonly #page: Caller;
  readonly #ns: string;
  readonly #read: () => Promise<Values>;

  /**
   * @param page For what the user does.
   * @param plugin For what the plugin does.
   * @param values What is stored for the plugin `id`.
   * @param read Read that again, until the daemon answers.
   */
  constructor(page: Caller, plugin: Caller, id: string, values: Values, read: () => Promise<Values>) {
    const ns = namespaceOf(id);
    super((key, value) => storeEntry(plugin, ns, key, value, read), values);
    this.#page = page;
    this.#ns = ns;
    this.#read = read;
  }

  /** The values of the schema, by key. */
  get form(): Values {
    return Object.fromEntries(this.schema.map(({ key }) => [key, this.get(key) as Json]));
  }

  /** Read again what is stored, and tell the plugin when another page has changed it. */
  async refresh(): Promise<void> {
    const values = await this.#read();
    if (textOf(values) !== textOf(this.all)) {
      this.replace(values);
    }
  }

  /** Save what the user entered; keys that are not in the schema are ignored. */
  async save(values: Values): Promise<Saving> {
    const entered = this.schema.filter(({ key }) => Object.hasOwn(values, key));
    const problems = entered
      .map((field) => [field.key, problemOf(field, values[field.key])] as const)
      .filter(([, problem]) => problem !== "");
    if (problems.length > 0) {
      return { outcome: "invalid", problems: Object.fromEntries(problems) };
    }
    return this.#store(entered, (key) => values[key]);
  }

  /** Return every field of the schema to its default. */
  reset(): Promise<Saving> {
    return this.#store(this.schema, () => undefined);
  }

  // Unlike with `set`, a value counts only once it is durable: the form reports either.
  async #store(fields: Schema, valueFor: (key: string) => Json | undefined): Promise<Saving> {
    let reason = "";
    try {
      for (const { key } of fields) {
        await storeEntry(this.#page, this.#ns, key, valueFor(key), this.#read);
        this.keep(key, valueFor(key));
      }
    } catch (e) {
      reason = describe(e);
    }
    // Another page may have saved others.
    this.replace(await readEntries(this.#page, this.#ns).catch(() => this.all));
    const left = fields.filter(({ key }) => reason !== "" && this.all[key] !== valueFor(key));
    return left.length === 0
      ? { outcome: "saved" }
      : { outcome: "not-saved", labels: left.map(({ label }) => label), reason };
  }
}

function textOf(values: Values): string {
  return JSON.stringify(Object.entries(values).sort());
}

/** Read the settings of the plugin `id`. */
export function readSettings(page: Caller, id: string): Promise<Values> {
  return readEntries(page, namespaceOf(id));
}

function namespaceOf(id: string): string {
  return `plugin:${id}`;
}

/**
 * Remove what a plugin of this page has stored after it was uninstalled.
 *
 * The daemon removes its settings with it, but a write may have been on its way.
 */
export async function forgetSettings(page: Caller, id: string): Promise<void> {
  for (const key of Object.keys(await readSettings(page, id))) {
    await page.call("state/delete", { ns: namespaceOf(id), key });
  }
}
