/** Noticing a daemon that is connected but does not answer, such as a stopped one. */

import { type Cancel, type Clock, atDeadline } from "./clock.js";
import type { Page } from "./page.js";

const SILENCE_MILLISECONDS = 20_000;
const STALLED_MILLISECONDS = 5_000;

/**
 * Watches one connection after another.
 *
 * While the page is visible, a connection that was silent for 20 s, or had a call time
 * out, is probed; until a probe succeeds, or a message comes, it counts as stalled.
 */
export class Liveness {
  readonly #clock: Clock;
  readonly #page: Page;
  readonly #probe: () => Promise<boolean>;
  readonly #stalls: (stalled: boolean) => void;
  #watching = false;
  #stalled = false;
  #suspected = false;
  #probing = false;
  #heardAt = 0;
  // A probe that fails counts only when nothing was heard since it began.
  #round = 0;
  #timer: Cancel | undefined;
  #cancelVisibility: Cancel | undefined;

  /**
   * @param probe Return whether the daemon answers.
   * @param stalls Called when the connection stalls, and when it no longer does.
   */
  constructor(
    clock: Clock,
    page: Page,
    probe: () => Promise<boolean>,
    stalls: (stalled: boolean) => void,
  ) {
    this.#clock = clock;
    this.#page = page;
    this.#probe = probe;
    this.#stalls = stalls;
  }

  /** Watch a new connection. */
  start(): void {
    this.#watching = true;
    this.#stalled = false;
    this.#cancelVisibility = this.#page.onVisibility(() => this.#visibilityChanged());
    this.heard();
  }

  /** The connection has ended. */
  stop(): void {
    this.#watching = false;
    this.#round += 1;
    this.#timer?.();
    this.#timer = undefined;
    this.#cancelVisibility?.();
  }

  /** A message came. */
  heard(): void {
    if (!this.#watching) {
      return;
    }
    this.#heardAt = this.#clock.now();
    this.#suspected = false;
    this.#round += 1;
    if (this.#stalled) {
      this.#stalled = false;
      this.#wait(SILENCE_MILLISECONDS);
      this.#stalls(false);
    } else if (this.#timer === undefined) {
      this.#wait(SILENCE_MILLISECONDS);
    }
  }

  /** A call was not answered in time: find out why. */
  suspect(): void {
    if (this.#watching) {
      this.#suspected = true;
      this.#check();
    }
  }

  #visibilityChanged(): void {
    if (!this.#page.hidden && this.#timer === undefined) {
      this.#tick();
    }
  }

  #wait(milliseconds: number): void {
    this.#timer?.();
    this.#timer = atDeadline(this.#clock, milliseconds, () => this.#tick());
  }

  #tick(): void {
    this.#timer = undefined;
    const silence = this.#clock.now() - this.#heardAt;
    if (this.#suspected || silence >= SILENCE_MILLISECONDS) {
      this.#check();
    } else {
      this.#wait(SILENCE_MILLISECONDS - silence);
    }
  }

  #check(): void {
    if (this.#page.hidden) {
      // It is checked when it is shown.
      this.#timer?.();
      this.#timer = undefined;
    } else if (!this.#probing) {
      void this.#probeOnce();
    }
  }

  async #probeOnce(): Promise<void> {
    this.#probing = true;
    const round = this.#round;
    const answered = await this.#probe();
    this.#probing = false;
    if (!this.#watching) {
      return;
    }
    if (answered) {
      this.heard();
    } else if (round === this.#round) {
      this.#suspected = true;
      this.#wait(STALLED_MILLISECONDS);
      if (!this.#stalled) {
        this.#stalled = true;
        this.#stalls(true);
      }
    }
  }
}
