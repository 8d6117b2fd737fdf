/** What the host needs of the clock; tests replace it. */

/** Run `work` after `milliseconds`; the result cancels that. */
export type Later = (milliseconds: number, work: () => void) => () => void;

export interface Environment {
  readonly later: Later;
  /** Milliseconds since some moment; never goes back. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly date: () => number;
}

/** The real browser. */
export const browser: Environment = {
  later(milliseconds, work) {
    const timer = setTimeout(work, milliseconds);
    return () => clearTimeout(timer);
  },

  now: () => performance.now(),
  date: () => Date.now(),
};
