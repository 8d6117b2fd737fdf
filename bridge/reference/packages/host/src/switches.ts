import type { Caller } from "./daemon.js";
import { fields } from "./wire.js";

const PREFIX = "enabled:";

/** Which plugins the user switched off, kept by the daemon: absent means on. */
export class Switches {
  readonly #caller: Caller;
  #off: ReadonlySet<string> = new Set();
  #known = false;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Whether they were read at least once. */
  get known(): boolean {
    return this.#known;
  }

  /** Read them all; returns every key of the host.  Rejects with `BridgeError`. */
  async read(): Promise<readonly string[]> {
    const answer = fields(await this.#caller.call("state", "list", { ns: "host" }));
    const entries = Object.entries(fields(answer["entries"]));
    this.#off = new Set(
      entries
        .filter(([key, value]) => key.startsWith(PREFIX) && value === false)
        .map(([key]) => key.slice(PREFIX.length)),
    );
    this.#known = true;
    return entries.map(([key]) => key);
  }

  isOn(id: string): boolean {
    return !this.#off.has(id);
  }

  /** Change one; rejects, and changes nothing, when it cannot be saved. */
  async set(id: string, on: boolean): Promise<void> {
    const entry = { ns: "host", key: PREFIX + id };
    if (on) {
      await this.#caller.call("state", "delete", entry);
    } else {
      await this.#caller.call("state", "set", { ...entry, value: false });
    }
    const rest = [...this.#off].filter((other) => other !== id);
    this.#off = new Set(on ? rest : [...rest, id]);
  }
}
