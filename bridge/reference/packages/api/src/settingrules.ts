/** Which values a field of a settings schema allows. */

import type { Json } from "./context.js";
import type { NumberField, SettingField, TextField } from "./settings.js";

/** The most characters of a text whose field sets no limit. */
export const USUAL_TEXT = 1_000;
/** The most characters that a field can allow. */
export const MOST_TEXT = 10_000;

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
