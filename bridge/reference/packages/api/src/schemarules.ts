/** Reading the settings schema of a plugin. */

import { KEY_RULE, MOST_TEXT, USUAL_TEXT, isKey, problemOf } from "./settingrules.js";
import type { SettingField } from "./settings.js";
import { within } from "./uirules.js";

const MOST_FIELDS = 50;
const MOST_OPTIONS = 50;
const MOST_LABEL = 80;
const MOST_HELP = 300;

type Fields = { readonly [name: string]: unknown };

/** A field of a schema, with the key of its value. */
export type KeyedField = SettingField & { readonly key: string };

/** The settings a plugin declares, in the order of its schema. */
export type Schema = readonly KeyedField[];

/**
 * Read the schema of a plugin.
 *
 * @throws RangeError It breaks a rule; the message names the field and the rule.
 */
export function readSchema(declared: unknown): Schema {
  if (declared === undefined) {
    return [];
  }
  within(typeof declared === "object" && declared !== null, "settings", "an object by key");
  const entries = Object.entries(declared as object);
  within(entries.length <= MOST_FIELDS, "settings", `at most ${MOST_FIELDS} fields`);
  return entries.map(([key, field]) => readField(key, field ?? {}));
}

function readField(key: string, field: Fields): KeyedField {
  within(isKey(key), "settings", `a key is ${KEY_RULE}`);
  // In a form without it, it would be there all the same.
  within(!(key in Object.prototype), "settings", `no key is called ${key}`);
  const name = `settings.${key}`;
  const { label, help } = field;
  within(isLabel(label), `${name}.label`, rule(MOST_LABEL));
  const helpful = help === undefined || (typeof help === "string" && help.length <= MOST_HELP);
  within(helpful, `${name}.help`, rule(MOST_HELP));
  const read = { key, label, help, ...readKind(name, field) } as KeyedField;
  within(problemOf(read, read.default) === "", `${name}.default`, "a value the field accepts");
  return read;
}

function readKind(name: string, field: Fields): object {
  const { type, default: usual } = field;
  switch (type) {
    case "number":
      return { type, default: usual, ...readLimits(name, field) };
    case "boolean":
      return { type, default: usual };
    case "text":
      return { type, default: usual, ...readLengths(name, field) };
    case "choice":
      return { type, default: usual, options: readOptions(name, field["options"]) };
    default:
      throw new RangeError(`${name}.type: number, boolean, text or choice`);
  }
}

function readLimits(name: string, field: Fields): object {
  const { min, max, integer } = field;
  for (const limit of [min, max]) {
    within(limit === undefined || Number.isFinite(limit), name, "min and max are numbers");
  }
  const ordered = min === undefined || max === undefined || Number(min) <= Number(max);
  within(ordered, name, "min is at most max");
  return { min, max, integer: integer === true };
}

function readLengths(name: string, field: Fields): object {
  const { minLength = 0, maxLength = USUAL_TEXT, multiline } = field;
  checkLength(`${name}.maxLength`, maxLength, 1, MOST_TEXT);
  checkLength(`${name}.minLength`, minLength, 0, Number(maxLength));
  return { minLength, maxLength, multiline: multiline === true };
}

function checkLength(name: string, given: unknown, least: number, most: number): void {
  const usable = Number.isInteger(given) && Number(given) >= least && Number(given) <= most;
  within(usable, name, `a whole number from ${least} to ${most}`);
}

function readOptions(name: string, given: unknown): readonly object[] {
  // A copy: an array may have methods of its own, which return what they like.
  const options = [...(Array.isArray(given) ? given : [])].map((option: Fields | null) => ({
    value: option?.["value"],
    label: option?.["label"],
  }));
  const many = options.length >= 1 && options.length <= MOST_OPTIONS;
  within(many, `${name}.options`, `1 to ${MOST_OPTIONS} options`);
  for (const { value, label } of options) {
    within(
      [value, label].every(isLabel),
      `${name}.options`,
      `value and label are ${rule(MOST_LABEL)}`,
    );
  }
  const distinct = new Set(options.map(({ value }) => value)).size === options.length;
  within(distinct, `${name}.options`, "no two options have the same value");
  return options;
}

function isLabel(words: unknown): boolean {
  return typeof words === "string" && words.length >= 1 && words.length <= MOST_LABEL;
}

function rule(most: number): string {
  return `text of at most ${most} characters`;
}
