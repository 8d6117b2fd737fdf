/**
 * Long operations, whose outcome survives a lost connection.
 *
 * An operation has a reference that the page chose, by which the daemon lists it while it
 * is under way and for some minutes after.
 */

import type { CallOptions } from "./calls.js";
import { type Cancel, type Clock, atDeadline } from "./clock.js";
import { type BridgeError, LostError, RefusedError, TimeoutError, refusal } from "./errors.js";
import { notify } from "./events.js";
import { type Fields, fields, list, text } from "./json.js";
import type { Events } from "./protocol.js";

const LOOK_MILLISECONDS = 2_000;
const REFERENCE_BYTES = 16;

export type Progress = Events["progress"];

const unheard = (): void => undefined;

export interface OperateOptions {
  /** Asks the daemon to cancel; it refuses once the operation is nearly done. */
  readonly signal?: AbortSignal | undefined;
  /** Called for each step. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** What operations need of the client. */
export interface Link {
  readonly clock: Clock;
  /** @param onSent Called when the request is sent. */
  call(
    method: string,
    params: object,
    options?: CallOptions,
    onSent?: () => void,
  ): Promise<unknown>;
  onProgress(listener: (progress: Progress) => void): Cancel;
  /** Wait for a connection; return false when there will be none. */
  connected(): Promise<boolean>;
}

/**
 * Run an operation to its outcome.
 *
 * @param params With the `ref` of an operation of this method that the daemon lists, that
 *   one is waited for, and nothing is sent.
 */
export async function operate(
  link: Link,
  method: string,
  params: object,
  options: OperateOptions,
): Promise<unknown> {
  options.signal?.throwIfAborted();
  const given = text(fields(params)["ref"]);
  const run = new Run(link, given || newReference(), options);
  const outcome = async (): Promise<unknown> => {
    try {
      if (given !== "" && (await run.isListed(method))) {
        return await run.follow(new LostError(true));
      }
      return await run.start(method, params);
    } finally {
      run.end();
    }
  };
  return Promise.race([outcome(), run.givenUp]);
}

/** Make an unguessable reference. */
export function newReference(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(REFERENCE_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** One operation that is waited for; once given up, until the daemon has the abort. */
class Run {
  readonly #link: Link;
  readonly #ref: string;
  readonly #signal: AbortSignal | undefined;
  #onProgress: (progress: Progress) => void;
  /** Stops the call itself, without cancelling the operation. */
  readonly #stop = new AbortController();
  readonly #ends: Cancel[];
  /** The daemon has it, so that it can be cancelled there. */
  #listed = false;
  #operation = "";
  /** An abort did not reach the daemon. */
  #cancelAgain = false;
  #step = "";
  #wake = (): void => undefined;
  #giveUp = (): void => undefined;
  /** Rejects with the signal's reason when an abort has not reached the daemon. */
  readonly givenUp = new Promise<never>((_, reject) => {
    this.#giveUp = () => reject(this.#signal?.reason);
  });

  constructor(link: Link, ref: string, { signal, onProgress = unheard }: OperateOptions) {
    this.#link = link;
    this.#ref = ref;
    this.#signal = signal;
    this.#onProgress = onProgress;
    const abort = (): void => this.#abort();
    signal?.addEventListener("abort", abort);
    const listen = link.onProgress((progress) => {
      if (fields(progress)["ref"] === ref) {
        this.#step = "";
        this.#report(progress);
      }
      this.#wake();
    });
    this.#ends = [() => signal?.removeEventListener("abort", abort), listen];
  }

  end(): void {
    this.#ends.forEach((end) => end());
  }

  /** Send the request, and wait for its outcome. */
  async start(method: string, params: object): Promise<unknown> {
    const all = { ...params, ref: this.#ref };
    const onSent = (): void => {
      this.#listed = true;
    };
    try {
      return await this.#link.call(method, all, { signal: this.#stop.signal }, onSent);
    } catch (error) {
      if (isPassing(error) && error.sent) {
        return await this.follow(error);
      }
      throw this.#outcome(error);
    }
  }

  /** Whether the daemon lists it already; nothing of it has been sent before. */
  async isListed(method: string): Promise<boolean> {
    try {
      // What another method began is not it: the daemon refuses the reference.
      return `plugins/${text((await this.#find())?.["op"])}` === method;
    } catch (error) {
      throw error instanceof LostError ? new LostError(false, error.close) : error;
    }
  }

  /** Return what the daemon lists of it; `undefined` when that is nothing. */
  async #find(): Promise<Fields | undefined> {
    const { signal } = this.#stop;
    const { operations } = fields(await this.#link.call("plugins/operations", {}, { signal }));
    return list(operations)
      .map(fields)
      .find(({ ref }) => ref === this.#ref);
  }

  /**
   * Wait for the outcome of an operation that the daemon lists.
   *
   * @param lost What is thrown when its outcome cannot be known.
   */
  async follow(lost: BridgeError): Promise<unknown> {
    this.#listed = true;
    for (;;) {
      const found = await this.#look(lost);
      const { outcome, result, error } = found;
      if (outcome === "done") {
        return result;
      }
      if (outcome !== undefined && outcome !== null) {
        throw this.#outcome(refusal(error));
      }
      this.#report(found as Fields & Progress);
      if (this.#cancelAgain) {
        void this.#cancel();
      }
      await this.#pause();
    }
  }

  /** Find it, however often the connection is lost meanwhile. */
  async #look(lost: BridgeError): Promise<Fields> {
    while (await this.#link.connected()) {
      try {
        const found = await this.#find();
        if (found === undefined) {
          break;
        }
        return found;
      } catch (error) {
        const slow = error instanceof RefusedError && error.code === "rate_limited";
        if (!isPassing(error) && !slow) {
          break;
        }
      }
      await this.#pause();
    }
    throw lost;
  }

  /** Wait until it may have ended. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = atDeadline(this.#link.clock, LOOK_MILLISECONDS, resolve);
      this.#wake = () => (cancel(), resolve());
    });
  }

  /** Report a step; one that is only listed again is no news. */
  #report(progress: Progress): void {
    const { operation, step } = fields(progress);
    this.#operation = text(operation, this.#operation);
    if (step !== this.#step) {
      this.#step = text(step);
      notify(this.#onProgress, progress);
    }
  }

  #abort(): void {
    if (this.#listed) {
      void this.#cancel();
    } else {
      this.#stop.abort(this.#signal?.reason);
    }
  }

  async #cancel(): Promise<void> {
    this.#cancelAgain = false;
    try {
      const operation = this.#operation || text((await this.#find())?.["operation"]);
      await this.#link.call("plugins/cancel", { operation });
    } catch (error) {
      // When it was refused, the operation goes on, and its outcome is what counts.
      if (isPassing(error)) {
        this.#cancelAgain = true;
        this.#onProgress = unheard;
        this.#giveUp();
      }
    }
  }

  /** What an error is for the caller: their own abort, when that has caused it. */
  #outcome(error: unknown): unknown {
    const cancelled = error instanceof RefusedError && error.prefix === "cancelled";
    return cancelled && this.#signal?.aborted === true ? this.#signal.reason : error;
  }
}

/** Whether the connection is to blame, which may come back. */
function isPassing(error: unknown): error is LostError | TimeoutError {
  return error instanceof LostError || error instanceof TimeoutError;
}
