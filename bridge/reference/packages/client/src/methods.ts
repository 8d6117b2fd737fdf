/** What the client knows of methods and events besides their types. */

import {
  CLOSES,
  type CloseReason,
  EVENTS,
  METHODS,
  type MethodName,
  PREFIXES,
} from "./protocol.js";

/** How long a call waits for a connection, and for the answer of an unknown method. */
export const ANSWER_MILLISECONDS = 4_000;

// They change nothing, so they may be asked again.
const READS: ReadonlySet<string> = new Set<MethodName>([
  "logs/info",
  "notify/targets",
  "osc/status",
  "plugins/about",
  "plugins/check_updates",
  "plugins/keys",
  "plugins/list",
  "plugins/operations",
  "sql/databases",
  "sql/query",
  "state/get",
  "state/list",
]);

/** How many milliseconds the answer of a method may take. */
export function answerMilliseconds(method: string): number {
  return Object.hasOwn(METHODS, method)
    ? METHODS[method as MethodName].timeoutMs
    : ANSWER_MILLISECONDS;
}

export function isRead(method: string): boolean {
  return READS.has(method);
}

export function isKnownEvent(event: string): boolean {
  return (EVENTS as readonly string[]).includes(event);
}

/** Whether the message of a refused plugin operation can start with it. */
export function isPrefix(word: string): boolean {
  return (PREFIXES as readonly string[]).includes(word);
}

/** When to connect again after a close, if the daemon has closed for a known reason. */
export function retryAfter(reason: string): (typeof CLOSES)[CloseReason] | undefined {
  return Object.hasOwn(CLOSES, reason) ? CLOSES[reason as CloseReason] : undefined;
}
