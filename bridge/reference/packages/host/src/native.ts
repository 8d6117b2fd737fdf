import {
  BridgeError,
  type Json,
  type Native,
  type Notification,
  type NotificationResult,
  PermissionError,
  type Target,
} from "@bridge/plugin-api";

import type { Result } from "../../client/src/index.js";
import type { Caller } from "./link.js";
import { describe } from "./log.js";
import type { Gate } from "./permissions.js";

// Of what follows a slash, the daemon sees nothing: the user would be asked about it as
// about another method.
const METHOD = /^[A-Za-z]{1,40}$/;
// The daemon's limit, less what is added.
const SENDER_CHARACTERS = 64 - " (plugin)".length;

/** The daemon's `notify` service, behind a plugin's gate. */
export class GatedNative implements Native {
  readonly #caller: Caller;
  readonly #gate: Gate;

  constructor(caller: Caller, gate: Gate) {
    this.#caller = caller;
    this.#gate = gate;
  }

  async call(
    service: string,
    method: string,
    params: { readonly [name: string]: Json } = {},
  ): Promise<unknown> {
    if (service !== "notify") {
      throw new PermissionError("a plugin may only use the service notify");
    }
    // Read once: an object could become another text each time.
    const name = String(method);
    if (!METHOD.test(name)) {
      throw new BridgeError("bad_request", "method: a name of letters");
    }
    await this.#gate.pass("native", `${service}/${name}`);
    const all = name === "send" ? this.#signed(params) : params;
    return this.#caller.call(`notify/${name as "send"}`, all as never);
  }

  /** A notification names who sends it, whatever the plugin says, to each sink. */
  #signed(params: { readonly [name: string]: Json }): { readonly [name: string]: Json } {
    const name = [...this.#gate.manifest.name].slice(0, SENDER_CHARACTERS).join("");
    const signed = <Value>(value: Value): Value =>
      isObject(value) ? { ...value, sourceApp: `${name} (plugin)` } : value;
    const { overrides } = params;
    if (!isObject(overrides)) {
      return signed(params);
    }
    const each = Object.entries(overrides).map(([sink, own]) => [sink, signed(own)]);
    return { ...signed(params), overrides: Object.fromEntries(each) as Json };
  }

  async targets(): Promise<readonly Target[]> {
    const { targets } = (await this.call("notify", "targets")) as Result<"notify/targets">;
    return targets as readonly unknown[] as readonly Target[];
  }

  async notify(notification: Notification): Promise<NotificationResult> {
    const params = { ...notification } as unknown as { [name: string]: Json };
    try {
      return (await this.call("notify", "send", params)) as Result<"notify/send">;
    } catch (e) {
      if (e instanceof PermissionError) {
        throw e;
      }
      return { ok: false, delivered: [], failed: [{ sink: "bridge", error: describe(e) }] };
    }
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
