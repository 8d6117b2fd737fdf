import type { Connection } from "./connection.js";
import { type Log, HOST_SCOPE, describe } from "./log.js";
import { Signal } from "./signal.js";
import { type Installed, type Update, availableUpdates, installedPlugins } from "./wire.js";

/** The installed plugins, as the daemon lists them. */
export class Catalogue {
  readonly changed = new Signal();
  readonly #connection: Connection;
  readonly #log: Log;
  #installed: readonly Installed[] | undefined;
  #updates: readonly Update[] = [];

  constructor(connection: Connection, log: Log) {
    this.#connection = connection;
    this.#log = log;
    connection.pushes.listen(({ event, data }) => {
      if (event === "plugins") {
        this.#take(data);
      }
    });
  }

  /** The installed plugins; `undefined` before the daemon was asked. */
  get installed(): readonly Installed[] | undefined {
    return this.#installed;
  }

  /** The update there is for the plugin `id`. */
  update(id: string): Update | undefined {
    return this.#updates.find((update) => update.id === id);
  }

  /** Ask for the list. */
  async refresh(): Promise<void> {
    try {
      this.#take(await this.#connection.call("plugins", "list"));
    } catch (e) {
      this.#log.add("warn", HOST_SCOPE, `the plugins could not be listed: ${describe(e)}`);
    }
  }

  /**
   * Check which plugins are behind their repositories.
   *
   * @returns The number of updates.
   */
  async checkUpdates(): Promise<number> {
    const answer = await this.#connection.call("plugins", "check_updates");
    this.#updates = availableUpdates(answer);
    this.changed.emit();
    return this.#updates.length;
  }

  /** The plugin `id` has been updated or removed. */
  settled(id: string): void {
    this.#updates = this.#updates.filter((update) => update.id !== id);
    this.changed.emit();
  }

  #take(data: unknown): void {
    this.#installed = installedPlugins(data);
    this.changed.emit();
  }
}
