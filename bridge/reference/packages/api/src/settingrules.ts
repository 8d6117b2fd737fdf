/** Which values a field of a settings schema allows. */

import type { Json } from "./context.js";
import { BridgeError } from "./errors.js";
import type { NumberField, SettingField, TextField } from "./settings.js";

/** The most characters of a text whose field sets no limit. */
export const USUAL_TEXT = 1_000;
/** The most characters that a field can allow. */
export const MOST_TEXT = 10_000;

/** What a key is. */
export const KEY_RULE = "1 to 64 of a-z A-Z 0-9 _ . : -";
// As the daemon counts it: of JSON in UTF-8.
const MOST_BYTES = 65_536;

/** Whether a value can have this key. */
export function isKey(key: string): boolean {
  return /^[A-Za-z0-9_.:-]{1,64}$/.test(key);
}

/**
 * Check what a plugin sets.
 *
 * @param field The field of its schema with this key, where there is one.
 * @throws RangeError The field does not allow the value.
 * @throws BridgeError No value can have the key, or the value is too large.
 * @throws TypeError The value is no JSON.
 */
export function checkSet(field: SettingField | undefined, key: string, value: Json): void {
  const problem = field === undefined ? "" : problemOf(field, value);
  if (problem !== "") {
    throw new RangeError(`${key}: ${problem}`);
  }
  if (!isKey(key)) {
    throw new BridgeError("bad_request", `key: ${KEY_RULE}`);
  }
  // Of `undefined` and functions there is none, whatever its type says.
  if (typeof JSON.stringify(value) !== "string") {
    throw new TypeError(`${key}: must be JSON`);
  }
  if (bytesOf(value) > MOST_BYTES) {
    throw new BridgeError("too_large", `${key}: over ${MOST_BYTES} bytes of JSON`);
  }
}

/** How many bytes the JSON of a value has. */
export function bytesOf(value: Json): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/**
 * Check a value.
 *
 * @returns What is wrong with it, as a sentence; empty when nothing is.
 */
export function problemOf(field: SettingField, value: unknown): string {
  switch (field.type) {
    case "number":
      return problemOfNumber(field, value);
    case "boolean":
      return typeof value === "boolean" ? "" : "On or off.";
    case "text":
      return problemOfText(field, value);
    case "choice":
      return field.options.some((option) => option.value === value)
        ? ""
        : "One of the choices.";
  }
}

function problemOfNumber({ min, max, integer }: NumberField, value: unknown): string {
  if (typeof value !== "number" || !Number.isFinite(value)) {
    return "A number.";
  }
  if (integer === true && !Number.isInteger(value)) {
    return "A whole number.";
  }
  const within = value >= (min ?? -Infinity) && value <= (max ?? Infinity);
  if (within) {
    return "";
  }
  if (min !== undefined && max !== undefined) {
    return `Between ${min} and ${max}.`;
  }
  return min === undefined ? `At most ${String(max)}.` : `At least ${min}.`;
}

function problemOfText(field: TextField, value: unknown): string {
  const { minLength = 0, maxLength = USUAL_TEXT, multiline } = field;
  if (typeof value !== "string") {
    return "A text.";
  }
  if (value.length < minLength) {
    return minLength === 1 ? "Not empty." : `At least ${minLength} characters.`;
  }
  if (value.length > maxLength) {
    return `At most ${maxLength} characters.`;
  }
  return multiline !== true && /[\r\n]/.test(value) ? "One line." : "";
}

/** The value of a field: what is stored, when the field allows it, else the default. */
export function valueOf(field: SettingField, stored: Json | undefined): Json {
  return stored !== undefined && problemOf(field, stored) === "" ? stored : field.default;
}
