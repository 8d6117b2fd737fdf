import type { Later } from "./environment.js";
import type { Daemon } from "./link.js";
import { HOST_SCOPE, type Log, describe } from "./log.js";

const AGAIN_MILLISECONDS = 5_000;

/**
 * Reads something of the daemon until it succeeds.
 *
 * @param what What is read: a later reading of the same takes over from those that wait.
 * @param failed Called with each failure, which is logged otherwise.
 */
export type Persist = <Result>(
  what: string,
  read: () => Promise<Result>,
  failed?: (error: unknown) => void,
) => Promise<Result>;

/** Return what tries again every five seconds while there is a connection. */
export function persistence(
  daemon: Pick<Daemon, "isOpen">,
  later: Later,
  log: Pick<Log, "add">,
): Persist {
  const latest = new Map<string, Promise<unknown>>();
  const noted = (e: unknown): void => log.add("warn", HOST_SCOPE, `not read: ${describe(e)}`);
  return <Result>(what: string, read: () => Promise<Result>, failed = noted): Promise<Result> => {
    const persist = async (): Promise<Result> => {
      for (;;) {
        try {
          return await read();
        } catch (e) {
          failed(e);
        }
        do {
          await new Promise<void>((again) => void later(AGAIN_MILLISECONDS, again));
        } while (!daemon.isOpen);
        if (latest.get(what) !== own) {
          return latest.get(what) as Promise<Result>;
        }
      }
    };
    const own = persist();
    latest.set(what, own);
    return own;
  };
}
