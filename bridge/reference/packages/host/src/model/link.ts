import type { MethodName, OperationName, State } from "../../../client/src/index.js";
import type { Signal } from "../signal.js";

/** A step of an operation, as the daemon pushes it. */
export interface Step {
  readonly operation: string;
  readonly op: string;
  /** Empty while it is not known. */
  readonly id: string;
  readonly step: string;
  readonly message: string;
  readonly cancellable: boolean;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/** What the model needs of the client. */
export interface Link {
  /** The state, its reason or the daemon's description changed. */
  readonly changed: Signal;
  readonly state: State;
  /** Why it is not paired: empty while it is, else `missing`, `refused` or `rotated`. */
  readonly reason: string;
  readonly endpoint: string;
  /** The daemon's version; empty before the first welcome. */
  readonly version: string;
  /** How the last sockets closed, the newest first; for a report. */
  readonly closes: readonly string[];
  /** Whether the daemon has a method, such as `plugins/preview`. */
  has(method: MethodName): boolean;
  call(method: MethodName, params?: object, options?: CallOptions): Promise<unknown>;
  /** Run an operation on plugins; the answer survives a lost connection. */
  operate(
    method: OperationName,
    params: object,
    options: CallOptions & { readonly ref?: string; onProgress(step: Step): void },
  ): Promise<unknown>;
  /** Listen to the pushes of one event. */
  on(event: string, listener: (data: unknown) => void): () => void;
  pair(token: string): void;
  /** @param token Of the daemon there; without one, the page has to be paired. */
  moveTo(endpoint: string, token?: string): void;
  retry(): void;
}
