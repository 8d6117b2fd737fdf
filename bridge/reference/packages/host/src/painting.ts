/** How long the page takes for what plugins show: their changes, and the frame that has them. */

/** Call `done` when a frame has been painted, with the milliseconds that it took. */
export type Painted = (done: (milliseconds: number) => void) => void;

interface Work {
  readonly took: number;
  readonly done: (milliseconds: number) => void;
}

// Clocks of browsers are coarse: what took no time has a part of the frame, too.
const LEAST_MILLISECONDS = 0.1;
const LATE_MILLISECONDS = 250;

/** Measures what each of some works costs a page that they share. */
export class Painting {
  readonly #now: () => number;
  readonly #painted: Painted;
  #works: Work[] = [];

  constructor(now: () => number, painted: Painted) {
    this.#now = now;
    this.#painted = painted;
  }

  /** Do `work`; when it is on the screen, call `done` with the milliseconds that it took. */
  run(work: () => void, done: (milliseconds: number) => void): void {
    const begun = this.#now();
    work();
    this.#works.push({ took: this.#now() - begun + LEAST_MILLISECONDS, done });
    if (this.#works.length === 1) {
      this.#painted((frame) => this.#share(frame));
    }
  }

  // The layout of a frame is of all works: each has the part that it has of them.
  #share(frame: number): void {
    const works = this.#works;
    this.#works = [];
    const all = works.reduce((sum, { took }) => sum + took, 0);
    works.forEach(({ took, done }) => done(took + (frame * took) / all));
  }
}

/** The frames of the real browser. */
export const painted: Painted = (done) => {
  if (document.visibilityState !== "visible") {
    // It paints nothing, and its timers wait.
    done(0);
    return;
  }
  const late = setTimeout(() => {
    cancelAnimationFrame(frame);
    done(LATE_MILLISECONDS);
  }, LATE_MILLISECONDS);
  const frame = requestAnimationFrame(() => {
    clearTimeout(late);
    const begun = performance.now();
    setTimeout(() => done(performance.now() - begun));
  });
};
