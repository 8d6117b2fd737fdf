import type { OscArgument, OscMessage } from "@bridge/plugin-api";

import type { Events } from "../../client/src/index.js";
import type { Caller, Daemon } from "./link.js";
import { type Log, HOST_SCOPE, describe } from "./log.js";

type Listener = (message: OscMessage) => void;

const KINDS: readonly string[] = ["bool", "int", "float", "string"];

/** The OSC messages that arrive, for all plugins: the port is held while one listens. */
export class OscHub {
  readonly #daemon: Daemon;
  readonly #log: Log;
  readonly #listeners = new Set<Listener>();
  /** Whether the daemon has not heard yet that none listens any more. */
  #isEnding = false;

  constructor(daemon: Daemon, log: Log) {
    this.#daemon = daemon;
    this.#log = log;
    daemon.on("osc", (data) => this.#received(readMessage(data)));
    // The daemon keeps the hold of a page that was away for a few minutes, and passes it on.
    daemon.opened.listen(() => {
      if (this.#listeners.size > 0 || this.#isEnding) {
        this.#tell();
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
      await caller.call("osc/listen");
    } catch (e) {
      this.#remove(added);
      throw e;
    }
    return () => this.#remove(added);
  }

  #remove(listener: Listener): void {
    if (this.#listeners.delete(listener) && this.#listeners.size === 0) {
      this.#tell();
    }
  }

  /** Tell the daemon whether a plugin listens. */
  #tell(): void {
    const method = this.#listeners.size > 0 ? "osc/listen" : "osc/stop";
    this.#daemon.call(method).then(
      () => (this.#isEnding = false),
      (e: unknown) => {
        this.#isEnding = method === "osc/stop";
        this.#log.add("warn", HOST_SCOPE, `${method} failed: ${describe(e)}`);
      },
    );
  }

  #received(message: OscMessage): void {
    for (const listener of [...this.#listeners]) {
      listener(message);
    }
  }
}

/** Leave out what no plugin can use, such as a blob. */
function readMessage({ address, args }: Events["osc"]): OscMessage {
  const usable = args.filter(({ kind }) => KINDS.includes(kind));
  return { address, args: usable as readonly object[] as readonly OscArgument[] };
}
