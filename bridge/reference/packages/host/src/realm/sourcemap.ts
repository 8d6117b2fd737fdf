/** From a line of a plugin's text to a line of its sources. */

import { fields, text, texts } from "../wire.js";

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** A place in a plugin's text; both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * Name the source and the line of a position, such as `main.ts:8`.
 *
 * @param map `sources` and `mappings` of a source map.
 * @returns Empty when the map does not have it.
 */
export function sourceLine(map: unknown, { line, column }: Position): string {
  const { sources, mappings } = fields(map);
  const before = text(mappings).split(";").slice(0, line);
  let [source, original] = [0, 0];
  let found = "";
  for (const [at, segments] of before.entries()) {
    let generated = 0;
    for (const segment of segments === "" ? [] : segments.split(",")) {
      const [forward = 0, another = 0, lines = 0] = decoded(segment);
      generated += forward;
      source += another;
      original += lines;
      const isAt = at === line - 1 && (found === "" || generated < column);
      found = isAt ? `${texts(sources)[source] ?? ""}:${original + 1}` : found;
    }
  }
  return found.startsWith(":") ? "" : found;
}

/** Decode the numbers of a segment: base 64, five bits a digit, the sign in the lowest. */
function decoded(segment: string): readonly number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value += (bits & 31) * 2 ** shift;
    shift += 5;
    if (bits < 32) {
      numbers.push(value % 2 === 1 ? -(value - 1) / 2 : value / 2);
      [value, shift] = [0, 0];
    }
  }
  return numbers;
}

// Browsers name the text by its address or by its name: `at f (plugin-bio.js:8:3)`,
// `f@blob:null/…:8:3`.
const PLACE = /(?:blob:[^\s():]*|plugin-[a-z0-9-]+\.js):(\d+):(\d+)/g;

/**
 * Find the first place of a stack that is in the plugin's text.
 *
 * @param above How many lines of the script come before the text.
 */
export function placeIn(stack: string, above: number): Position | undefined {
  for (const [, line, column] of stack.matchAll(PLACE)) {
    if (Number(line) > above) {
      return { line: Number(line) - above, column: Number(column) };
    }
  }
  return undefined;
}
