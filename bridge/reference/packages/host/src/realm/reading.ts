/** Reading what a realm sends. */

import type { Json } from "@bridge/plugin-api";

import { LEVELS, PLUGIN_CHARACTERS } from "../log.js";
import {
  CALLS,
  type Change,
  type FromRealm,
  KINDS,
  LIMITS,
  PACE,
  PHASES,
  mostCharacters,
} from "./wire.js";

type Fields = { readonly [name: string]: unknown };

/**
 * Read a message.
 *
 * @throws RangeError It is none that the realm's runtime sends; the message names the rule.
 */
export function readMessage(data: unknown): FromRealm {
  check(typeof data === "string" && data.length <= LIMITS.message, "a text within its size");
  const words = data as string;
  const read = readTagged(MESSAGES, "t", parse(words)) as FromRealm;
  const kind = read.t === "call" ? read.name : read.t;
  check(words.length <= mostCharacters(kind), `a message of ${read.t} within its size`);
  return read;
}

function parse(words: string): unknown {
  try {
    return JSON.parse(words);
  } catch {
    check(false, "JSON");
  }
}

/** How each field is read. */
type Shape = { readonly [field: string]: (value: unknown) => unknown };

const REF = { ref: readNumber };

const CHANGES: { readonly [op in Change["op"]]: Shape } = {
  log: { level: oneOf(LEVELS), text: readText(PLUGIN_CHARACTERS) },
  card: { ...REF, title: readText() },
  // What a state has is read again where it is drawn.
  part: { ...REF, card: readNumber, kind: oneOf(KINDS), state: readFields },
  draw: { ...REF, state: readFields },
  remove: REF,
};

const THROWN: Shape = {
  name: readText(PACE.errorCharacters),
  message: readText(PACE.errorCharacters),
  stack: readText(PACE.errorCharacters),
};

const MESSAGES: { readonly [t in FromRealm["t"]]: Shape } = {
  loaded: { id: readText(64), schema: readJson },
  activated: {},
  stopped: {},
  failed: {
    during: oneOf(PHASES),
    what: readText(300),
    error: (value) => readShape(THROWN, readFields(value)),
  },
  batch: { changes: readList(LIMITS.changes, (value) => readTagged(CHANGES, "op", value)) },
  call: { n: readNumber, name: oneOf(CALLS), args: readList(64, readJson) },
  done: { event: readNumber },
  pong: { n: readNumber },
};

/** Read an object whose shape one of its fields names. */
function readTagged(
  shapes: { readonly [tag: string]: Shape },
  field: string,
  value: unknown,
): object {
  const found = readFields(value);
  const tag = oneOf(Object.keys(shapes))(found[field]);
  return { [field]: tag, ...readShape(shapes[tag] ?? {}, found) };
}

function readShape(shape: Shape, found: Fields): object {
  const fields = Object.entries(shape).map(([name, read]) => [name, read(found[name])]);
  return Object.fromEntries(fields) as object;
}

function readJson(value: unknown): Json {
  check(value !== undefined, "a value");
  return value as Json;
}

function readFields(value: unknown): Fields {
  check(typeof value === "object" && value !== null && !Array.isArray(value), "an object");
  return value as Fields;
}

function readList<T>(most: number, read: (item: unknown) => T) {
  return (value: unknown): readonly T[] => {
    check(Array.isArray(value) && value.length <= most, `a list of at most ${most}`);
    return (value as readonly unknown[]).map(read);
  };
}

function readText(most: number = LIMITS.ordinary) {
  return (value: unknown): string => {
    check(typeof value === "string" && value.length <= most, `a text of at most ${most}`);
    return value as string;
  };
}

function readNumber(value: unknown): number {
  check(Number.isSafeInteger(value) && (value as number) >= 1, "a number from 1");
  return value as number;
}

function oneOf<T extends string>(known: readonly T[]) {
  return (value: unknown): T => {
    check(known.includes(value as T), "a known word");
    return value as T;
  };
}

/**
 * Check that the plugin has kept a rule of its port.
 *
 * @throws RangeError It has not, so its realm is ended.
 */
export function check(holds: boolean, rule: string): asserts holds {
  if (!holds) {
    throw new RangeError(`the plugin broke a rule of its port: ${rule}`);
  }
}
