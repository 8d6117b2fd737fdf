/** The connection to the daemon. */

import { BridgeError } from "@bridge/plugin-api";

import type {
  CallOptions,
  EventName,
  Events,
  MethodName,
  OperateOptions,
  OperationName,
  Params,
  Result,
  State,
} from "../../client/src/index.js";
import type { Signal } from "./signal.js";

/** A call was sent and not answered: what it asked for may be done. */
export class UnansweredError extends BridgeError {}

/** Calls methods of the daemon. */
export interface Caller {
  /**
   * Call a method.
   *
   * Rejects with the `BridgeError` of the plugin API: the daemon refused, or there was no
   * answer in time.
   */
  call<Method extends MethodName>(
    method: Method,
    params?: Params<Method>,
    options?: CallOptions,
  ): Promise<Result<Method>>;
}

/** What the runtime needs of the connection. */
export interface Daemon extends Caller {
  /** The daemon has accepted this page, for the first time or again. */
  readonly opened: Signal;
  /** Whether it has accepted this page, and the connection was not lost since. */
  readonly isOpen: boolean;
  /** Listen to the pushes of one event. */
  on<Event extends EventName>(event: Event, listener: (data: Events[Event]) => void): () => void;
}

/** What the page needs of it. */
export interface Link extends Daemon {
  /** The state, its reason or the daemon's description changed. */
  readonly changed: Signal;
  readonly state: State;
  /** Why it is not paired: empty while it is, else `missing`, `refused` or `rotated`. */
  readonly reason: string;
  readonly endpoint: string;
  /** The token that it was paired with last. */
  readonly token: string;
  /** The daemon's version; empty before the first welcome. */
  readonly version: string;
  /** How the last sockets closed, the newest first; for a report. */
  readonly closes: readonly string[];
  /** Run an operation on plugins; the answer survives a lost connection. */
  operate<Method extends OperationName>(
    method: Method,
    params: Params<Method>,
    options: OperateOptions,
  ): Promise<Result<Method>>;
  pair(token: string): void;
  retry(): void;
}
