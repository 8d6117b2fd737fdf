import type { Caller } from "./daemon.js";
import type { Installed } from "./grants.js";
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

  /** Read them all; returns all entries of the host.  Rejects with `BridgeError`. */
  async read(): Promise<{ readonly [key: string]: unknown }> {
    const answer = fields(await this.#caller.call("state", "list", { ns: "host" }));
    const stored = fields(answer["entries"]);
    this.#off = new Set(
      Object.entries(stored)
        .filter(([key, value]) => key.startsWith(PREFIX) && value === false)
        .map(([key]) => key.slice(PREFIX.length)),
    );
    this.#known = true;
    return stored;
  }

  /** Switch on those that are off and not installed, for the next plugins with their ids. */
  async compare(installed: readonly Installed[]): Promise<void> {
    const ids = new Set(installed.map(({ id }) => id));
    for (const id of [...this.#off].filter((one) => !ids.has(one))) {
      await this.set(id, true);
    }
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
