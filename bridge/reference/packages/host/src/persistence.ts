import type { Later } from "./environment.js";
import type { Daemon } from "./link.js";

const AGAIN_MILLISECONDS = 5_000;

/** Does something until it succeeds, such as reading what the daemon has. */
export type Persist = (work: () => Promise<unknown>) => Promise<void>;

/** Return what tries again every five seconds while there is a connection. */
export function persistence(daemon: Pick<Daemon, "isOpen">, later: Later): Persist {
  return async (work) => {
    while (!(await work().then(() => true, () => false))) {
      do {
        await new Promise<void>((again) => void later(AGAIN_MILLISECONDS, again));
      } while (!daemon.isOpen);
    }
  };
}
