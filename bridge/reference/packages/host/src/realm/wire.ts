/**
 * What the page and the realm of a plugin send each other: JSON texts, over one port.
 *
 * The page believes nothing of it: what the realm's own runtime never sends can only come
 * from the plugin's code, and is a breach.
 */

import type { Json, OscMessage } from "@bridge/plugin-api";

import type { Level } from "../log.js";
import type { Values } from "../settings.js";

/** How much a realm may send; its runtime stays below all of these. */
export const LIMITS = {
  /** Characters of any message; it is parsed only when it has no more. */
  message: 1_600_000,
  /** Characters of a message that is not one of `LARGE`. */
  ordinary: 70_000,
  messages: { perSecond: 200, burst: 1_000 },
  characters: { perSecond: 3_000_000, burst: 16_000_000 },
  /** Calls without an answer; saving a setting has one more place, of its own. */
  unanswered: 8,
  /** Changes of cards in a batch. */
  changes: 500,
  /** Events that the realm has not dealt with. */
  events: 32,
  /** OSC messages that wait until the realm has dealt with those before. */
  osc: 256,
} as const;

/** What the realm's runtime allows itself. */
export const PACE = {
  messages: { perSecond: 150, burst: 500 },
  characters: { perSecond: 2_000_000, burst: 8_000_000 },
  /** Calls that wait for others to be answered. */
  waiting: 256,
  batches: { perSecond: 60, burst: 1 },
  batch: 60_000,
  unansweredCharacters: 4_000_000,
  errorCharacters: 4_000,
} as const;

export const CALLS = [
  "settings.set",
  "native.targets",
  "native.notify",
  "native.call",
  "http.fetch",
  "osc.send",
  "osc.listen",
  "osc.end",
  "sql.databases",
  "sql.query",
] as const;
export type CallName = (typeof CALLS)[number];

// They hold texts of many fields or changes, an icon for each sink, a statement, a body.
const LARGE = /^(batch|loaded|native|http|sql)/;

/** The most characters of a message, by what it is or by the name of the call. */
export function mostCharacters(kind: string): number {
  return LARGE.test(kind) ? LIMITS.message : LIMITS.ordinary;
}

export const KINDS = ["text", "button", "input", "number", "table", "progress", "image"] as const;
export type Kind = (typeof KINDS)[number];

/** A card or a part; the realm numbers them from 1. */
export type Ref = number;

/** The fields of a part; `null` stands for `undefined`. */
export type State = { readonly [field: string]: Json };

/** A change of the plugin's cards, or a line of its log. */
export type Change =
  | { readonly op: "log"; readonly level: Level; readonly text: string }
  | { readonly op: "card"; readonly ref: Ref; readonly title: string }
  | {
      readonly op: "part";
      readonly ref: Ref;
      readonly card: Ref;
      readonly kind: Kind;
      readonly state: State;
    }
  /** Only what has changed; a field's value comes with its `writes`. */
  | { readonly op: "draw"; readonly ref: Ref; readonly state: State }
  | { readonly op: "remove"; readonly ref: Ref };

export const PHASES = ["load", "activate", "callback", "stop"] as const;

/** What was thrown. */
export interface Thrown {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
}

export type FromRealm =
  /** `schema` is what the plugin declares as its settings. */
  | { readonly t: "loaded"; readonly id: string; readonly schema: Json }
  | { readonly t: "activated" }
  | { readonly t: "stopped" }
  | {
      readonly t: "failed";
      readonly during: (typeof PHASES)[number];
      /** What a callback is of, such as a button. */
      readonly what: string;
      readonly error: Thrown;
    }
  /** The next comes after `drawn`. */
  | { readonly t: "batch"; readonly changes: readonly Change[] }
  | {
      readonly t: "call";
      readonly n: number;
      readonly name: CallName;
      readonly args: readonly Json[];
    }
  | { readonly t: "done"; readonly event: number }
  | { readonly t: "pong"; readonly n: number };

export interface Refusal {
  readonly kind: "bridge" | "permission" | "range" | "type" | "error";
  readonly code: string;
  readonly message: string;
}

export type ToRealm =
  | { readonly t: "init"; readonly id: string; readonly settings: Values }
  | { readonly t: "activate" }
  | { readonly t: "drawn" }
  | { readonly t: "answer"; readonly n: number; readonly ok: Json }
  | { readonly t: "answer"; readonly n: number; readonly error: Refusal }
  | { readonly t: "event"; readonly event: number; readonly ref: Ref; readonly value: Json }
  | { readonly t: "settings"; readonly settings: Values }
  | {
      readonly t: "osc";
      readonly event: number;
      readonly messages: readonly { readonly listener: number; readonly message: OscMessage }[];
    }
  | { readonly t: "stop" }
  | { readonly t: "ping"; readonly n: number };
