/** What a call can be rejected with; an abort is a `DOMException` named `AbortError`. */

import { fields, text } from "./json.js";
import { isPrefix } from "./methods.js";
import type { ErrorCode } from "./protocol.js";

/** How a socket closed. */
export interface Close {
  readonly code: number;
  readonly reason: string;
}

/**
 * Why the client is not paired.
 *
 * - `missing`: it has no token.
 * - `refused`: the daemon does not accept its token.
 * - `rotated`: the daemon's token was replaced.
 */
export type PairingReason = "missing" | "refused" | "rotated";

/** The base of every error of this package. */
export class BridgeError extends Error {
  /** The daemon's code, or `lost`, `timeout` or `pairing`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "BridgeError";
    this.code = code;
  }
}

/** The daemon refused the call. */
export class RefusedError extends BridgeError {
  declare readonly code: ErrorCode | (string & {});
  /** Why a plugin operation was refused, such as `denied`; empty for other refusals. */
  readonly prefix: string;
  /** The message without the prefix. */
  readonly detail: string;
  /** With `rate_limited`: how many seconds to wait. */
  readonly retryAfter: number | undefined;

  constructor(code: string, message: string, retryAfter?: number) {
    super(code, message);
    this.name = "RefusedError";
    const [, prefix = "", rest = ""] = /^([a-z_]+): (.*)$/s.exec(message) ?? [];
    // The message of any other refusal may start with the name of a field.
    const known = isPrefix(prefix);
    this.prefix = known ? prefix : "";
    this.detail = known ? rest : message;
    this.retryAfter = retryAfter;
  }
}

/** There is no connection, or no more. */
export class LostError extends BridgeError {
  /** Whether the request went out: if so, it may have been carried out. */
  readonly sent: boolean;
  /** How the socket closed; `undefined` when there was none. */
  readonly close: Close | undefined;

  constructor(sent: boolean, close?: Close) {
    super("lost", sent ? "the connection closed before the answer" : "there is no connection");
    this.name = "LostError";
    this.sent = sent;
    this.close = close;
  }
}

/** The deadline of a call has passed; a later answer is dropped. */
export class TimeoutError extends BridgeError {
  /** Whether the request went out: if so, it may still be carried out. */
  readonly sent: boolean;

  constructor(sent: boolean) {
    super("timeout", "the daemon did not answer in time");
    this.name = "TimeoutError";
    this.sent = sent;
  }
}

/** The client is not paired. */
export class PairingError extends BridgeError {
  readonly reason: PairingReason;

  constructor(reason: PairingReason) {
    super("pairing", "the page is not paired with the daemon");
    this.name = "PairingError";
    this.reason = reason;
  }
}

/** Read the `error` of a response. */
export function refusal(error: unknown): RefusedError {
  const { code, message, retryAfter } = fields(error);
  return new RefusedError(
    text(code, "internal"),
    text(message, "the daemon refused the call"),
    typeof retryAfter === "number" ? retryAfter : undefined,
  );
}
