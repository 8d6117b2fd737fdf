import type { Later } from "./environment.js";
import type { Daemon } from "./link.js";
import { HOST_SCOPE, type Log, describe } from "./log.js";

const AGAIN_MILLISECONDS = 5_000;

/** Reads something of the daemon until it succeeds. */
export type Persist = (read: () => Promise<unknown>) => Promise<void>;

/** Return what tries again every five seconds while there is a connection. */
export function persistence(
  daemon: Pick<Daemon, "isOpen">,
  later: Later,
  log: Pick<Log, "add">,
): Persist {
  const failed = (e: unknown): void => log.add("warn", HOST_SCOPE, `not read: ${describe(e)}`);
  return async (read) => {
    while (!(await read().then(() => true, failed))) {
      do {
        await new Promise<void>((again) => void later(AGAIN_MILLISECONDS, again));
      } while (!daemon.isOpen);
    }
  };
}
