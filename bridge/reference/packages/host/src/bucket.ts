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

  /** Take tokens, if there are as many; returns whether there were. */
  take(many = 1): boolean {
    if (this.wait(many) > 0) {
      return false;
    }
    this.#tokens -= many;
    return true;
  }

  /** How many milliseconds until there are as many tokens; 0 when there are. */
  wait(many = 1): number {
    const { perSecond, burst } = this.#rate;
    const now = this.#now();
    const passed = now - this.#filledAt;
    this.#tokens = Math.min(burst, this.#tokens + (passed * perSecond) / 1000);
    this.#filledAt = now;
    return this.#tokens >= many ? 0 : Math.ceil(((many - this.#tokens) * 1000) / perSecond);
  }
}
