import type { Json, OscMessage } from "@bridge/plugin-api";

import { check } from "./reading.js";
import { LIMITS, type Ref, type ToRealm } from "./wire.js";

type Heard = Extract<ToRealm, { readonly t: "osc" }>["messages"][number];

/**
 * Events on their way to a realm: little piles up in front of one that does not listen.
 *
 * While a part's last event was not dealt with, a press is left out, and of changes only
 * the latest is kept.
 */
export class Events {
  readonly #post: (message: ToRealm) => void;
  /** What each event that was sent is of; 0 stands for OSC. */
  readonly #sent = new Map<number, Ref>();
  readonly #kept = new Map<Ref, Json>();
  #heard: Heard[] = [];
  #last = 0;

  constructor(post: (message: ToRealm) => void) {
    this.#post = post;
  }

  /** The user pressed a part, or changed its value; a field that was cleared has `null`. */
  send(ref: Ref, value?: Json): void {
    const isBusy = [...this.#sent.values()].includes(ref) || this.#sent.size >= LIMITS.events;
    if (!isBusy) {
      this.#post({ t: "event", event: this.#number(ref), ref, value: value ?? null });
    } else if (value !== undefined) {
      this.#kept.set(ref, value);
    }
  }

  /** An OSC message arrived for a listener of the plugin. */
  received(listener: number, message: OscMessage): void {
    if (this.#heard.length >= LIMITS.osc) {
      const same = this.#heard.findIndex(
        (one) => one.listener === listener && one.message.address === message.address,
      );
      this.#heard.splice(Math.max(same, 0), 1);
    }
    this.#heard.push({ listener, message });
    this.#sendHeard();
  }

  /** The realm has dealt with an event; throws `RangeError` when there is none. */
  done(event: number): void {
    check(this.#sent.delete(event), "an event that it got");
    for (const [kept, value] of [...this.#kept]) {
      this.#kept.delete(kept);
      this.send(kept, value);
    }
    this.#sendHeard();
  }

  #sendHeard(): void {
    if (this.#heard.length > 0 && ![...this.#sent.values()].includes(0)) {
      const messages = this.#heard;
      this.#heard = [];
      this.#post({ t: "osc", event: this.#number(0), messages });
    }
  }

  #number(ref: Ref): number {
    this.#last += 1;
    this.#sent.set(this.#last, ref);
    return this.#last;
  }
}
