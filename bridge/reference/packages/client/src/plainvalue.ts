/** Any value of the page, as JSON that fits into a frame. */

import { wellFormed } from "./json.js";

const MOST_CHARACTERS = 524_288;

/**
 * The plain JSON of a value.
 *
 * Nothing is null, an error or what will not serialise is its string form, and of what is
 * too long there is `{truncated, chars, head}`: how long its JSON is, and how that begins.
 */
export function plain(value: unknown): unknown {
  const json = wellFormed(serialised(value));
  return json.length <= MOST_CHARACTERS
    ? (JSON.parse(json) as unknown)
    : { truncated: true, chars: json.length, head: head(json) };
}

/** A text that fits into a frame. */
export function plainText(text: string): string {
  return head(JSON.parse(wellFormed(JSON.stringify(text))) as string);
}

/** Any value as a string. */
export function stringForm(value: unknown): string {
  try {
    return String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

function serialised(value: unknown): string {
  if (value === undefined) {
    return "null";
  }
  try {
    // A function or a symbol has none.
    const json = JSON.stringify(value, (_, inner: unknown) =>
      inner instanceof Error || typeof inner === "bigint" ? stringForm(inner) : inner,
    ) as string | undefined;
    if (json !== undefined) {
      return json;
    }
  } catch {
    // Such as a value that contains itself.
  }
  return JSON.stringify(stringForm(value));
}

function head(text: string): string {
  return text.slice(0, MOST_CHARACTERS).replace(/[\ud800-\udbff]$/, "");
}
