/** The clock of tests, and how they compare. */

/** Let everything that is ready happen. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) {
    await Promise.resolve();
  }
}

/** Wait until everything is answered, one call after another. */
export async function quiet(): Promise<void> {
  for (let call = 0; call < 12; call += 1) {
    await settle();
  }
}

/** A promise, and what settles it. */
export function pending<T = void>() {
  let resolve = (_: T): void => undefined;
  let reject = (_: Error): void => undefined;
  const promise = new Promise<T>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}

interface Timer {
  readonly at: number;
  readonly work: () => void;
}

export class FakeEnvironment {
  #time = 0;
  #timers: Timer[] = [];

  readonly now = (): number => this.#time;
  readonly date = this.now;

  readonly later = (milliseconds: number, work: () => void): (() => void) => {
    const timer = { at: this.#time + milliseconds, work };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  };

  get timers(): number {
    return this.#timers.length;
  }

  /** Let the page sleep: timers that become due run late, at its end. */
  sleep(milliseconds: number): void {
    this.#time += milliseconds;
  }

  /** Let time pass, and everything be answered that comes then. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.#time + milliseconds;
    await settle();
    for (;;) {
      const next = this.#timers
        .filter(({ at }) => at <= end)
        .sort((one, other) => one.at - other.at)[0];
      if (next === undefined) {
        break;
      }
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#time = Math.max(this.#time, next.at);
      next.work();
      await settle();
    }
    this.#time = end;
    await quiet();
  }
}

/** Fail unless both are the same JSON. */
export function equal(found: unknown, wanted: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (one !== other) {
    throw new Error(`found ${one}, wanted ${other}`);
  }
}

/** What is thrown at once, as text; fails when nothing is. */
export function thrown(work: () => unknown): string {
  try {
    work();
  } catch (e) {
    return String(e);
  }
  throw new Error("nothing was thrown");
}

/** What a promise is rejected with; fails when it is not. */
export async function failure(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (e) {
    return e as Error;
  }
  throw new Error("nothing failed");
}

/** The name and the code of what a promise is rejected with. */
export async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await failure(promise);
  return "code" in error ? `${error.name} ${String(error.code)}` : error.name;
}
