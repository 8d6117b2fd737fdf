import { BridgeError } from "@bridge/plugin-api";

import type { Later } from "./environment.js";
import { fields, text } from "./wire.js";

const ORDINARY_MILLISECONDS = 4_000;
// These wait for a person, who has two minutes.
const CONFIRMED_MILLISECONDS = 130_000;
const CONFIRMED = new Set(["install", "update", "uninstall", "forget_key"]);

export type Params = { readonly [name: string]: unknown };

interface Call {
  readonly frame: string;
  readonly deadline: number;
  sent: boolean;
  forget: () => void;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The pending requests.
 *
 * One made while there is no socket waits for one, for as long as an ordinary answer
 * may take.  Nothing is ever sent twice.
 */
export class Calls {
  readonly #waiting = new Map<string, Call>();
  readonly #later: Later;
  #made = 0;

  constructor(later: Later) {
    this.#later = later;
  }

  /** Add a request; `send` gets its frame now or once there is a socket. */
  make(
    service: string,
    method: string,
    params: Params,
    timeoutMs?: number,
  ): Promise<unknown> {
    this.#made += 1;
    const id = String(this.#made);
    const confirmed = service === "plugins" && CONFIRMED.has(method);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, {
        frame: JSON.stringify({ type: "request", id, service, method, params }),
        deadline: timeoutMs ?? (confirmed ? CONFIRMED_MILLISECONDS : ORDINARY_MILLISECONDS),
        sent: false,
        forget: this.#giveUp(id, ORDINARY_MILLISECONDS, "the daemon is not connected"),
        resolve,
        reject,
      });
    });
  }

  /** Pass every unsent frame to `send`, oldest first. */
  flush(send: (frame: string) => void): void {
    for (const [id, call] of this.#waiting) {
      if (!call.sent) {
        call.sent = true;
        call.forget();
        call.forget = this.#giveUp(id, call.deadline, "the daemon did not answer in time");
        send(call.frame);
      }
    }
  }

  /** Handle a `response` frame; one without a pending request is dropped. */
  answer(frame: unknown): void {
    const { id, ok, result, error } = fields(frame);
    const call = this.#take(text(id));
    if (call === undefined) {
      return;
    }
    if (ok === true) {
      call.resolve(result);
    } else {
      const { code, message } = fields(error);
      call.reject(
        new BridgeError(text(code, "error"), text(message, "the daemon refused")),
      );
    }
  }

  /** The socket is gone: what was sent will not be answered. */
  disconnected(): void {
    for (const [id, call] of [...this.#waiting]) {
      if (call.sent) {
        this.#take(id);
        call.reject(
          new BridgeError("disconnected", "the connection closed before the answer"),
        );
      }
    }
  }

  #giveUp(id: string, milliseconds: number, why: string): () => void {
    return this.#later(milliseconds, () => {
      this.#take(id)?.reject(new BridgeError("timeout", why));
    });
  }

  #take(id: string): Call | undefined {
    const call = this.#waiting.get(id);
    call?.forget();
    this.#waiting.delete(id);
    return call;
  }
}
