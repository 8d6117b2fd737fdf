import {
  type Osc,
  type OscArgument,
  type OscMessage,
  type OscValue,
  PermissionError,
} from "@bridge/plugin-api";

import type { Caller, Daemon } from "./daemon.js";
import { type Log, HOST_SCOPE, describe } from "./log.js";
import type { Gate } from "./permissions.js";
import { fields, list, text } from "./wire.js";

type Listener = (message: OscMessage) => void;

const KINDS: readonly string[] = ["bool", "int", "float", "string"];

/** The OSC messages that arrive, for all plugins: the port is held while one listens. */
export class OscHub {
  readonly #daemon: Daemon;
  readonly #log: Log;
  readonly #listeners = new Set<Listener>();

  constructor(daemon: Daemon, log: Log) {
    this.#daemon = daemon;
    this.#log = log;
    daemon.pushes.listen(({ event, data }) => {
      if (event === "osc") {
        this.#received(readMessage(data));
      }
    });
    // The daemon keeps the hold of a page that was away for a few minutes, no longer.
    daemon.opened.listen(() => {
      if (this.#listeners.size > 0) {
        this.#quietly("listen");
      }
    });
  }

  /**
   * Call `listener` for each message; rejects when the port cannot be held.
   *
   * @param caller Of the plugin that listens.
   */
  async listen(listener: Listener, caller: Caller): Promise<() => void> {
    // Of its own, so that one function can listen twice.
    const added: Listener = (message) => listener(message);
    this.#listeners.add(added);
    try {
      await caller.call("osc", "listen");
    } catch (e) {
      this.#remove(added);
      throw e;
    }
    return () => this.#remove(added);
  }

  #remove(listener: Listener): void {
    if (this.#listeners.delete(listener) && this.#listeners.size === 0) {
      this.#quietly("stop");
    }
  }

  #quietly(method: string): void {
    this.#daemon.call("osc", method).catch((e: unknown) => {
      this.#log.add("warn", HOST_SCOPE, `osc/${method} failed: ${describe(e)}`);
    });
  }

  #received(message: OscMessage): void {
    for (const listener of [...this.#listeners]) {
      listener(message);
    }
  }
}

/** The daemon's `osc` service, behind a plugin's gate. */
export class GatedOsc implements Osc {
  readonly #hub: OscHub;
  readonly #caller: Caller;
  readonly #gate: Gate;
  readonly #ends = new Set<() => void>();
  #silenced = 0;

  constructor(hub: OscHub, caller: Caller, gate: Gate) {
    this.#hub = hub;
    this.#caller = caller;
    this.#gate = gate;
  }

  async send(address: string, ...args: readonly (OscValue | OscArgument)[]): Promise<void> {
    await this.#gate.pass("osc", "*");
    await this.#caller.call("osc", "send", { address, args: [...args] });
  }

  async listen(listener: Listener): Promise<() => void> {
    await this.#gate.pass("osc", "*");
    const before = this.#silenced;
    const end = await this.#hub.listen(listener, this.#caller);
    if (before !== this.#silenced) {
      end();
      throw new PermissionError("the user does not allow osc any more");
    }
    const ended = (): void => {
      this.#ends.delete(ended);
      end();
    };
    this.#ends.add(ended);
    return ended;
  }

  /** End every listener of the plugin, also one that is being added. */
  silence(): void {
    this.#silenced += 1;
    for (const end of [...this.#ends]) {
      end();
    }
  }
}

function readMessage(data: unknown): OscMessage {
  const { address, args } = fields(data);
  return { address: text(address), args: list(args).flatMap(readArgument) };
}

function readArgument(value: unknown): OscArgument[] {
  const { kind, value: given } = fields(value);
  const usable =
    KINDS.includes(text(kind)) && ["boolean", "number", "string"].includes(typeof given);
  return usable ? [{ kind, value: given } as OscArgument] : [];
}
