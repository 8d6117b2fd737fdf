/** Time and chance; tests replace both. */

/** Cancels what it was returned for; does nothing when that is over. */
export type Cancel = () => void;

export interface Clock {
  /** Milliseconds since some moment; never goes back. */
  now(): number;
  /** Milliseconds since the epoch. */
  date(): number;
  /** Run `work` after `milliseconds`. */
  later(milliseconds: number, work: () => void): Cancel;
  /** A number from 0 up to, but not including, 1. */
  random(): number;
}

// A timer that comes this late has slept with its page, or with the whole machine.
const LATE_MILLISECONDS = 1_000;
const GRACE_MILLISECONDS = 250;
// A browser's timer for longer than this ends at once.
const MOST_MILLISECONDS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => Date.now(),
  later(milliseconds, work) {
    const wait = Math.min(milliseconds, MOST_MILLISECONDS);
    const timer = milliseconds === Infinity ? undefined : setTimeout(work, wait);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/**
 * Run `work` once a deadline has passed.
 *
 * Messages that came while the page slept are read before a deadline counts: a timer
 * that is late waits a little longer.
 */
export function atDeadline(clock: Clock, milliseconds: number, work: () => void): Cancel {
  const due = clock.now() + milliseconds;
  let cancel = clock.later(milliseconds, () => {
    if (clock.now() - due < LATE_MILLISECONDS) {
      work();
    } else {
      cancel = clock.later(GRACE_MILLISECONDS, work);
    }
  });
  return () => cancel();
}
