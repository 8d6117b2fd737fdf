import type { HttpOptions, HttpResponse } from "@bridge/plugin-api";

import { readTarget } from "../../api/src/httprules.js";
import type { Caller } from "./link.js";
import type { Gate } from "./permissions.js";

const DEFAULT_MILLISECONDS = 30_000;
const MOST_MILLISECONDS = 120_000;
// The daemon ends the exchange itself; the page only outlasts it.
const ANSWER_MILLISECONDS = 5_000;

/** A response; its realm parses the body. */
type Response = Omit<HttpResponse, "json">;

/**
 * Make a request for a plugin, behind its gate: one grant for each host.
 *
 * @param inTurn Runs what it is given after the plugin's requests before that.
 */
export async function fetchFor(
  caller: Caller,
  gate: Gate,
  inTurn: <T>(work: () => Promise<T>) => Promise<T>,
  url: string,
  options: HttpOptions,
): Promise<Response> {
  const target = readTarget(url);
  await gate.pass("network", target.host);
  const { method, headers, body } = options;
  // It comes as JSON, where `Infinity` is `null`.
  const timeoutMs = options.timeoutMs ?? DEFAULT_MILLISECONDS;
  const wait = Math.trunc(Math.min(Math.max(timeoutMs, 1), MOST_MILLISECONDS));
  const params = {
    // As it was parsed: what was asked about is what is requested.
    url: target.href,
    ...(method === undefined ? {} : { method }),
    ...(headers === undefined ? {} : { headers }),
    ...(body === undefined ? {} : { body }),
    timeoutMs: wait,
  };
  const limit = { timeoutMs: wait + ANSWER_MILLISECONDS };
  const { setCookie: _, ...response } = await inTurn(() =>
    caller.call("outbound/fetch", params, limit),
  );
  return response;
}
