import type { HttpOptions, HttpResponse } from "@bridge/plugin-api";

import { readTarget } from "../../api/src/httprules.js";
import type { Caller } from "./daemon.js";
import type { Gate } from "./permissions.js";
import { fields, text } from "./wire.js";

const DEFAULT_MILLISECONDS = 30_000;
const MOST_MILLISECONDS = 120_000;
// The daemon ends the exchange itself; the page only outlasts it.
const ANSWER_MILLISECONDS = 5_000;

/** A response; its realm parses the body. */
type Response = Omit<HttpResponse, "json">;

/** The daemon's `outbound` service, behind a plugin's gate: one grant for each host. */
export class GatedHttp {
  readonly #caller: Caller;
  readonly #gate: Gate;

  constructor(caller: Caller, gate: Gate) {
    this.#caller = caller;
    this.#gate = gate;
  }

  async fetch(url: string, options: HttpOptions = {}): Promise<Response> {
    const target = readTarget(url);
    await this.#gate.pass("network", target.host);
    const { method, headers, body, timeoutMs = DEFAULT_MILLISECONDS } = options;
    const wait = Math.trunc(Math.min(Math.max(timeoutMs, 1), MOST_MILLISECONDS));
    const params = {
      // As it was parsed: what was asked about is what is requested.
      url: target.href,
      ...(method === undefined ? {} : { method }),
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
      timeoutMs: wait,
    };
    const answer = await this.#caller.call("outbound", "fetch", params, {
      timeoutMs: wait + ANSWER_MILLISECONDS,
    });
    return response(fields(answer), target.href);
  }
}

function response(answer: ReturnType<typeof fields>, url: string): Response {
  const body = text(answer["body"]);
  const headers = Object.entries(fields(answer["headers"]));
  return {
    status: Number(answer["status"]) || 0,
    statusText: text(answer["statusText"]),
    ok: answer["ok"] === true,
    url: text(answer["url"], url),
    headers: Object.fromEntries(headers.map(([name, value]) => [name, text(value)])),
    body,
  };
}
