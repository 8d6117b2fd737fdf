import type { Later } from "../environment.js";

const MISSED = 2;

/** What watching needs of the page. */
export interface WatchParts {
  readonly later: Later;
  /** Whether the page is shown; browsers slow down what is not. */
  readonly isVisible: () => boolean;
}

/** Pings something again and again, and notices when it does not answer. */
export class Watch {
  readonly #parts: WatchParts;
  readonly #milliseconds: number;
  readonly #ping: () => void;
  readonly #changed: (isSilent: boolean) => void;
  #cancel = (): void => undefined;
  #isOpen = false;
  #missed = 0;

  /** @param changed Called when two answers in a row were missed, and when one came. */
  constructor(
    parts: WatchParts,
    milliseconds: number,
    ping: () => void,
    changed: (isSilent: boolean) => void,
  ) {
    this.#parts = parts;
    this.#milliseconds = milliseconds;
    this.#ping = ping;
    this.#changed = changed;
    this.#wait();
  }

  get isSilent(): boolean {
    return this.#missed >= MISSED;
  }

  /** It has answered. */
  heard(): void {
    const wasSilent = this.isSilent;
    this.#isOpen = false;
    this.#missed = 0;
    if (wasSilent) {
      this.#changed(false);
    }
  }

  end(): void {
    this.#cancel();
  }

  #wait(): void {
    this.#cancel = this.#parts.later(this.#milliseconds, () => {
      this.#wait();
      if (this.#parts.isVisible()) {
        this.#tick();
      }
    });
  }

  #tick(): void {
    const wasSilent = this.isSilent;
    this.#missed += this.#isOpen ? 1 : 0;
    // One question at a time: nothing piles up in front of what does not answer.
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.#ping();
    }
    if (this.isSilent && !wasSilent) {
      this.#changed(true);
    }
  }
}
