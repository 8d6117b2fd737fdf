/** What the client knows of methods besides their types. */

import type { Events, Methods } from "./protocol.js";

export type MethodName = keyof Methods & string;
export type EventName = keyof Events & string;

/** How long an answer may take, and how long a call waits for a connection. */
export const ANSWER_MILLISECONDS = 4_000;

const CONFIRMED_MILLISECONDS = 130_000;

// They wait for a person, who has two minutes, or for a repository.
const SLOW: ReadonlySet<string> = new Set<MethodName>([
  "plugins/forget_key",
  "plugins/install",
  "plugins/preview",
  "plugins/uninstall",
  "plugins/update",
]);

// They change nothing, so they may be asked again.
const READS: ReadonlySet<string> = new Set<MethodName>([
  "logs/info",
  "notify/targets",
  "osc/status",
  "plugins/check_updates",
  "plugins/keys",
  "plugins/list",
  "plugins/operations",
  "sql/databases",
  "sql/query",
  "state/get",
  "state/list",
]);

const EVENTS: { readonly [Name in EventName]: true } = {
  build: true,
  error: true,
  log: true,
  osc: true,
  plugins: true,
  progress: true,
  remote: true,
};

/** What the message of a refused plugin operation can start with. */
export const PREFIXES: ReadonlySet<string> = new Set([
  "already_installed",
  "approval_unavailable",
  "build_failed",
  "busy",
  "cancelled",
  "clone_failed",
  "denied",
  "downgrade",
  "invalid_id",
  "manifest_invalid",
  "moved",
  "no_manifest",
  "not_cancellable",
  "not_https",
  "not_installed",
  "not_trusted",
  "policy",
  "private_address",
  "reinstall_required",
  "unsigned",
]);

/** How many milliseconds the answer of a method may take. */
export function answerMilliseconds(method: string): number {
  return SLOW.has(method) ? CONFIRMED_MILLISECONDS : ANSWER_MILLISECONDS;
}

export function isRead(method: string): boolean {
  return READS.has(method);
}

export function isKnownEvent(event: string): boolean {
  return Object.hasOwn(EVENTS, event);
}
