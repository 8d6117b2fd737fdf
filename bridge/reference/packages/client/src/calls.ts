/** The pending requests.  Nothing is sent twice, except reads that were refused for rate. */

import { type Cancel, type Clock, atDeadline } from "./clock.js";
import {
  type BridgeError,
  type Close,
  LostError,
  RefusedError,
  TimeoutError,
  refusal,
} from "./errors.js";
import { type Fields, text } from "./json.js";
import { ANSWER_MILLISECONDS, answerMilliseconds, isRead } from "./methods.js";
import { LIMITS } from "./protocol.js";

// The rest of a frame: its type, its id and its method. The daemon would close a socket
// with a longer one, and so end the calls of everything on the page.
const HEAD_BYTES = 1_024;
const PARAMS_BYTES = LIMITS.frameBytes - HEAD_BYTES;
const UTF8_BYTES_PER_UNIT = 3;

export interface CallOptions {
  /** Stops waiting; a request that was sent may still be carried out. */
  readonly signal?: AbortSignal | undefined;
  /** From the call to its answer; by default what the method may take, mostly 4 s. */
  readonly timeoutMs?: number | undefined;
}

interface Call {
  id: string;
  readonly method: string;
  /** As JSON. */
  readonly params: string;
  readonly madeAt: number;
  readonly timeoutMs: number | undefined;
  /** `held` is a read that waits until it may be asked again. */
  phase: "queued" | "sent" | "held";
  retried: boolean;
  cancel: Cancel;
  readonly onSent: () => void;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class Calls {
  readonly #clock: Clock;
  readonly #send: (frame: string) => boolean;
  readonly #timedOut: () => void;
  readonly #pending = new Map<string, Call>();
  #made = 0;

  /**
   * @param send Sends a frame; returns whether there is a connection.
   * @param timedOut Called when a request that was sent is not answered in time.
   */
  constructor(clock: Clock, send: (frame: string) => boolean, timedOut: () => void) {
    this.#clock = clock;
    this.#send = send;
    this.#timedOut = timedOut;
  }

  /** Whether a call waits for a connection. */
  get waiting(): boolean {
    return [...this.#pending.values()].some(({ phase }) => phase === "queued");
  }

  /**
   * Make a call; it is sent now, or once there is a connection.
   *
   * @param onSent Called when it is sent.
   */
  async make(
    method: string,
    given: object,
    options: CallOptions,
    onSent: () => void,
  ): Promise<unknown> {
    const { signal } = options;
    signal?.throwIfAborted();
    const params = JSON.stringify(given);
    if (isOver(params, PARAMS_BYTES)) {
      throw new RefusedError("bad_request", `params: over ${PARAMS_BYTES} bytes of JSON`);
    }
    let abort = (): void => undefined;
    try {
      return await new Promise((resolve, reject) => {
        const call: Call = {
          id: "",
          method,
          params,
          madeAt: this.#clock.now(),
          // A caller without types may have copied it as JSON, where `Infinity` is `null`.
          timeoutMs: options.timeoutMs ?? undefined,
          phase: "queued",
          retried: false,
          cancel: () => undefined,
          onSent,
          resolve,
          reject,
        };
        abort = () => this.#remove(call).reject(signal?.reason);
        signal?.addEventListener("abort", abort);
        this.#queue(call);
      });
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** There is a connection: send what waits for one, oldest first. */
  flush(): void {
    for (const call of [...this.#pending.values()]) {
      if (call.phase === "queued" && !this.#sent(call)) {
        return;
      }
    }
  }

  /** Handle a `response` frame; one without a pending request is dropped. */
  answer(frame: Fields): void {
    const call = this.#pending.get(text(frame["id"]));
    if (call?.phase !== "sent") {
      return;
    }
    this.#remove(call);
    if (frame["ok"] === true) {
      call.resolve(frame["result"]);
      return;
    }
    const error = refusal(frame["error"]);
    if (!this.#holds(call, error)) {
      call.reject(error);
    }
  }

  /** The connection is gone: what was sent will not be answered. */
  lost(close: Close): void {
    this.#rejectAll("sent", () => new LostError(true, close));
  }

  /** There will be no connection: reject what waits for one. */
  giveUp(error: () => BridgeError): void {
    this.#rejectAll("queued", error);
    this.#rejectAll("held", error);
  }

  #rejectAll(phase: Call["phase"], error: () => BridgeError): void {
    for (const call of [...this.#pending.values()]) {
      if (call.phase === phase) {
        this.#remove(call).reject(error());
      }
    }
  }

  #queue(call: Call): void {
    this.#add(call, "queued");
    if (this.#sent(call)) {
      return;
    }
    const left = this.#left(call);
    const waits = Math.min(left ?? ANSWER_MILLISECONDS, ANSWER_MILLISECONDS);
    call.cancel = atDeadline(this.#clock, waits, () => {
      const timedOut = left !== undefined && left <= ANSWER_MILLISECONDS;
      this.#remove(call).reject(timedOut ? new TimeoutError(false) : new LostError(false));
    });
  }

  /** Send a call if there is a connection; return whether there is. */
  #sent(call: Call): boolean {
    const [service = "", method = ""] = call.method.split("/");
    const head = JSON.stringify({ type: "request", id: call.id, service, method });
    if (!this.#send(`${head.slice(0, -1)},"params":${call.params}}`)) {
      return false;
    }
    call.phase = "sent";
    call.onSent();
    call.cancel();
    const left = this.#left(call) ?? answerMilliseconds(call.method);
    call.cancel = atDeadline(this.#clock, left, () => {
      this.#remove(call).reject(new TimeoutError(true));
      this.#timedOut();
    });
    return true;
  }

  /** Ask a read again that came too fast, once; return whether it will be. */
  #holds(call: Call, error: RefusedError): boolean {
    if (error.code !== "rate_limited" || call.retried || !isRead(call.method)) {
      return false;
    }
    const wait = (error.retryAfter ?? 1) * 1_000;
    if (wait >= (this.#left(call) ?? Infinity)) {
      return false;
    }
    call.retried = true;
    this.#add(call, "held");
    call.cancel = this.#clock.later(wait, () => this.#queue(this.#remove(call)));
    return true;
  }

  /** How much of the caller's own deadline is left; `undefined` when there is none. */
  #left({ madeAt, timeoutMs }: Call): number | undefined {
    const passed = this.#clock.now() - madeAt;
    return timeoutMs === undefined ? undefined : Math.max(0, timeoutMs - passed);
  }

  #add(call: Call, phase: Call["phase"]): void {
    this.#made += 1;
    call.id = String(this.#made);
    call.phase = phase;
    this.#pending.set(call.id, call);
  }

  #remove(call: Call): Call {
    call.cancel();
    this.#pending.delete(call.id);
    return call;
  }
}

function isOver(json: string, bytes: number): boolean {
  // Counting is only worth it when it could be.
  return json.length * UTF8_BYTES_PER_UNIT > bytes && new TextEncoder().encode(json).length > bytes;
}
