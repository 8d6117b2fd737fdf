import {
  BridgeError,
  type Health,
  type Json,
  type Native,
  type Notification,
  type NotificationResult,
  PermissionError,
  type Target,
} from "@bridge/plugin-api";

import type { Caller } from "./daemon.js";
import { describe } from "./log.js";
import type { Gate } from "./permissions.js";
import { fields, list, text, texts } from "./wire.js";

// Of what follows a slash, the daemon sees nothing: the user would be asked about it as
// about another method.
const METHOD = /^[A-Za-z]{1,40}$/;
const SENDER_CHARACTERS = 60;

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
    return this.#caller.call(service, name, name === "send" ? this.#signed(params) : params);
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
    const answer = fields(await this.call("notify", "targets"));
    return list(answer["targets"]).map(fields).map((target) => ({
      name: text(target["name"]),
      description: text(target["description"]),
      health: healthOf(target["health"]),
      honours: texts(target["honours"]),
    }));
  }

  async notify(notification: Notification): Promise<NotificationResult> {
    const params = { ...notification } as unknown as { [name: string]: Json };
    try {
      const answer = fields(await this.call("notify", "send", params));
      return {
        ok: answer["ok"] === true,
        delivered: texts(answer["delivered"]),
        failed: list(answer["failed"]).map(fields).map((failure) => ({
          sink: text(failure["sink"]),
          error: text(failure["error"]),
        })),
      };
    } catch (e) {
      if (e instanceof PermissionError) {
        throw e;
      }
      return { ok: false, delivered: [], failed: [{ sink: "bridge", error: describe(e) }] };
    }
  }
}

function healthOf(value: unknown): Health {
  return value === "up" || value === "down" ? value : "unknown";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
