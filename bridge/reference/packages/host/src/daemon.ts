import type { Signal } from "./signal.js";

/** How a call differs from an ordinary one. */
export interface CallOptions {
  /** How many milliseconds to wait for the answer. */
  readonly timeoutMs?: number;
}

/** Calls methods of the daemon. */
export interface Caller {
  /**
   * Call a method.
   *
   * Rejects with `BridgeError`: the daemon refused, or there was no answer in time.
   */
  call(
    service: string,
    method: string,
    params?: { readonly [name: string]: unknown },
    options?: CallOptions,
  ): Promise<unknown>;
}

/** What the runtime needs of the connection to the daemon. */
export interface Daemon extends Caller {
  readonly pushes: Signal<{ readonly event: string; readonly data: unknown }>;
  /** The daemon has accepted this page, for the first time or again. */
  readonly opened: Signal;
  /** Whether it has accepted this page, and the connection was not lost since. */
  readonly isOpen: boolean;
}
