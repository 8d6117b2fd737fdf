/** How often something may happen. */
export interface Rate {
  readonly perSecond: number;
  /** How often at once, after a pause. */
  readonly burst: number;
}

/** A token bucket. */
export class Bucket {
  readonly #rate: Rate;
  readonly #now: () => number;
  #tokens: number;
  #filledAt: number;

  constructor(rate: Rate, now: () => number) {
    this.#rate = rate;
    this.#now = now;
    this.#tokens = rate.burst;
    this.#filledAt = now();
  }

  /** Take a token, if there is one; returns whether there was. */
  take(): boolean {
    if (this.wait() > 0) {
      return false;
    }
    this.#tokens -= 1;
    return true;
  }

  /** How many milliseconds until there is a token; 0 when there is one. */
  wait(): number {
    const { perSecond, burst } = this.#rate;
    const now = this.#now();
    // A clock that is set back fills nothing.
    const passed = Math.max(0, now - this.#filledAt);
    this.#tokens = Math.min(burst, this.#tokens + (passed * perSecond) / 1000);
    this.#filledAt = now;
    return this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) * 1000) / perSecond);
  }
}
