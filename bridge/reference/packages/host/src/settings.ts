import type { Json, Settings } from "@bridge/plugin-api";

import type { Connection } from "./connection.js";
import { fields } from "./wire.js";

type Caller = Pick<Connection, "call">;

/** A plugin's own values, in the daemon's state store. */
export class StoredSettings implements Settings {
  readonly #caller: Caller;
  readonly #namespace: string;
  readonly #values: Map<string, Json>;
  readonly #unwritten = new Set<string>();
  #writing: Promise<void> | undefined;

  private constructor(caller: Caller, namespace: string, values: Map<string, Json>) {
    this.#caller = caller;
    this.#namespace = namespace;
    this.#values = values;
  }

  /** Read the settings of the plugin `id`. */
  static async read(caller: Caller, id: string): Promise<StoredSettings> {
    const namespace = `plugin:${id}`;
    const answer = fields(await caller.call("state", "list", { ns: namespace }));
    const entries = Object.entries(fields(answer["entries"])) as [string, Json][];
    return new StoredSettings(caller, namespace, new Map(entries));
  }

  get(key: string): Json | undefined;
  get(key: string, fallback: boolean): boolean;
  get(key: string, fallback: number): number;
  get(key: string, fallback: string): string;
  get(key: string, fallback?: Json): Json | undefined {
    const value = this.#values.get(key);
    const usable = fallback === undefined || typeof value === typeof fallback;
    return usable ? value : fallback;
  }

  set(key: string, value: Json): Promise<void> {
    this.#values.set(key, value);
    this.#unwritten.add(key);
    this.#writing ??= this.#write();
    return this.#writing;
  }

  async #write(): Promise<void> {
    let failure: unknown;
    for (const key of this.#unwritten) {
      // A key set again while it is being written comes round once more.
      this.#unwritten.delete(key);
      const value = this.#values.get(key);
      try {
        await this.#caller.call("state", "set", { ns: this.#namespace, key, value });
      } catch (e) {
        failure ??= e;
      }
    }
    this.#writing = undefined;
    if (failure !== undefined) {
      throw failure;
    }
  }
}
