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
  type State,
  type Thrown,
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
  const message = readFields(parse(words), "a message");
  const read = readByKind(message);
  check(words.length <= sizeFor(read), `a message of ${read.t} within its size`);
  return read;
}

function parse(words: string): unknown {
  try {
    return JSON.parse(words);
  } catch {
    throw new RangeError("the plugin broke a rule of its port: JSON");
  }
}

function sizeFor(message: FromRealm): number {
  const isLarge =
    message.t === "batch" || (message.t === "call" && message.name === "http.fetch");
  return isLarge ? LIMITS.message : LIMITS.ordinary;
}

function readByKind(message: Fields): FromRealm {
  const { t } = message;
  switch (t) {
    case "loaded":
      return { t, id: readText(message["id"], 64), schema: readJson(message["schema"]) };
    case "activated":
    case "stopped":
      return { t };
    case "failed":
      return {
        t,
        during: oneOf(PHASES, message["during"]),
        what: readText(message["what"], 300),
        error: readThrown(message["error"]),
      };
    case "batch":
      return { t, changes: readList(message["changes"], LIMITS.changes, readChange) };
    case "call":
      return {
        t,
        n: readNumber(message["n"]),
        name: oneOf(CALLS, message["name"]),
        args: readList(message["args"], 64, readJson),
      };
    case "done":
      return { t, event: readNumber(message["event"]) };
    case "pong":
      return { t, n: readNumber(message["n"]) };
    default:
      throw new RangeError("the plugin broke a rule of its port: a known message");
  }
}

function readChange(value: unknown): Change {
  const change = readFields(value, "a change");
  const { op } = change;
  switch (op) {
    case "log":
      return {
        op,
        level: oneOf(LEVELS, change["level"]),
        text: readText(change["text"], PLUGIN_CHARACTERS),
      };
    case "card":
      return { op, ref: readNumber(change["ref"]), title: readText(change["title"]) };
    case "part":
      return {
        op,
        ref: readNumber(change["ref"]),
        card: readNumber(change["card"]),
        kind: oneOf(KINDS, change["kind"]),
        state: readState(change["state"]),
      };
    case "draw":
      return { op, ref: readNumber(change["ref"]), state: readState(change["state"]) };
    case "remove":
      return { op, ref: readNumber(change["ref"]) };
    default:
      throw new RangeError("the plugin broke a rule of its port: a known change");
  }
}

function readThrown(value: unknown): Thrown {
  const { name, message, stack } = readFields(value, "an error");
  const most = PACE.errorCharacters;
  return {
    name: readText(name, most),
    message: readText(message, most),
    stack: readText(stack, most),
  };
}

// What it has is read again where it is drawn.
function readState(value: unknown): State {
  return readFields(value, "a state") as State;
}

function readJson(value: unknown): Json {
  check(value !== undefined, "a value");
  return value as Json;
}

function readFields(value: unknown, what: string): Fields {
  check(typeof value === "object" && value !== null && !Array.isArray(value), what);
  return value as Fields;
}

function readList<T>(value: unknown, most: number, read: (item: unknown) => T): readonly T[] {
  check(Array.isArray(value) && value.length <= most, `a list of at most ${most}`);
  return (value as readonly unknown[]).map(read);
}

function readText(value: unknown, most: number = LIMITS.ordinary): string {
  check(typeof value === "string" && value.length <= most, `a text of at most ${most}`);
  return value as string;
}

function readNumber(value: unknown): number {
  check(Number.isSafeInteger(value) && (value as number) >= 1, "a number from 1");
  return value as number;
}

function oneOf<T extends string>(known: readonly T[], value: unknown): T {
  check(known.includes(value as T), "a known word");
  return value as T;
}

function check(holds: boolean, rule: string): asserts holds {
  if (!holds) {
    throw new RangeError(`the plugin broke a rule of its port: ${rule}`);
  }
}
