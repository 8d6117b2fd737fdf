import type { Environment } from "./environment.js";
import { fields } from "./wire.js";

const PROBE_MILLISECONDS = 4_000;

/** Whether a daemon answers at `endpoint`; needs no token. */
export async function detect(
  read: Environment["read"],
  endpoint: string,
): Promise<boolean> {
  const health = await read(`${endpoint}/v1/health`, PROBE_MILLISECONDS);
  return fields(health)["ok"] === true;
}
