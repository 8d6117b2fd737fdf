/** Return a limiter: at most `many` tasks run at once, and the others wait in order. */
export function concurrencyLimiter(many: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < many) {
      running += 1;
    } else {
      // A task that ends hands its slot over.
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) {
        running -= 1;
      } else {
        next();
      }
    }
  };
}
