/** Whether a daemon answers at an endpoint; needs no token. */

import { type Clock, atDeadline } from "./clock.js";

export const HEALTH_MILLISECONDS = 4_000;

export type Fetch = (url: string, options: RequestInit) => Promise<Response>;

/** Return whether a daemon at `endpoint` answers in time, whatever it answers. */
export async function isHealthy(fetch: Fetch, clock: Clock, endpoint: string): Promise<boolean> {
  const abort = new AbortController();
  let expire = (): void => undefined;
  const expired = new Promise<boolean>((resolve) => {
    expire = () => resolve(false);
  });
  const cancel = atDeadline(clock, HEALTH_MILLISECONDS, () => {
    abort.abort();
    expire();
  });
  try {
    return await Promise.race([answers(fetch, endpoint, abort.signal), expired]);
  } finally {
    cancel();
  }
}

/** Any answer counts: a daemon that is asked too often refuses, and runs all the same. */
async function answers(fetch: Fetch, endpoint: string, signal: AbortSignal): Promise<boolean> {
  try {
    await fetch(`${endpoint}/v1/health`, {
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal,
    });
    return true;
  } catch {
    return false;
  }
}
