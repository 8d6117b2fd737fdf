/** Whether a daemon answers at an endpoint; needs no token. */

import { type Clock, atDeadline } from "./clock.js";
import { fields } from "./json.js";

export const HEALTH_MILLISECONDS = 4_000;

export type Fetch = (url: string, options: RequestInit) => Promise<Response>;

/** Return whether the daemon at `endpoint` answers in time. */
export async function isHealthy(
  fetch: Fetch,
  clock: Clock,
  endpoint: string,
): Promise<boolean> {
  const abort = new AbortController();
  let expire = (): void => undefined;
  const expired = new Promise<undefined>((resolve) => {
    expire = () => resolve(undefined);
  });
  const cancel = atDeadline(clock, HEALTH_MILLISECONDS, () => {
    abort.abort();
    expire();
  });
  try {
    const answer = await Promise.race([read(fetch, endpoint, abort.signal), expired]);
    return fields(answer)["ok"] === true;
  } finally {
    cancel();
  }
}

async function read(fetch: Fetch, endpoint: string, signal: AbortSignal): Promise<unknown> {
  try {
    const answer = await fetch(`${endpoint}/v1/health`, {
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal,
    });
    return answer.ok ? ((await answer.json()) as unknown) : undefined;
  } catch {
    return undefined;
  }
}
