import type { Json } from "@bridge/plugin-api";

import { readEntries, storeEntry } from "./entries.js";
import type { Caller, Daemon } from "./link.js";
import type { Persist } from "./persistence.js";
import type { Values } from "./settings.js";
import { Signal } from "./signal.js";

const AUTO_CHECK = "updates:auto";
const CHECKED = "updates:checked";
const ENABLED = "enabled:";
const NAMESPACE = "host";
const SKIPPED = "skip:";

/** What the page keeps in the daemon's state, for every browser; read at each connection. */
export class HostState {
  readonly changed = new Signal();
  /** All of it was read, and another page may have changed it. */
  readonly wasRead = new Signal();
  /** This page has changed it, or the settings of a plugin. */
  readonly saved = new Signal();
  readonly #caller: Caller;
  readonly #persist: Persist;
  #entries: Values = {};
  #reading: Promise<Values> | undefined;

  constructor(daemon: Caller & Pick<Daemon, "opened">, persist: Persist) {
    this.#caller = daemon;
    this.#persist = persist;
    daemon.opened.listen(() => void this.refresh());
  }

  /**
   * Read all of it, again and again until the daemon answers.
   *
   * What was read before counts no more: another page may have changed it.
   */
  refresh(): Promise<Values> {
    this.#reading = this.#persist("state", () => this.read());
    return this.#reading;
  }

  /** Wait for the last reading, or read when there was none. */
  ready(): Promise<Values> {
    return this.#reading ?? this.refresh();
  }

  /**
   * Read all of it once; rejects with `BridgeError`.
   *
   * For what is compared with something that was just read, too: a later reading has more.
   */
  async read(): Promise<Values> {
    const entries = await readEntries(this.#caller, NAMESPACE);
    this.#entries = entries;
    // The last may have failed, and wait until it is tried again.
    this.#reading = Promise.resolve(entries);
    this.wasRead.emit();
    this.changed.emit();
    return entries;
  }

  /** All of it, by key. */
  get entries(): Values {
    return this.#entries;
  }

  /** Whether a plugin is switched on: unless the user switched it off. */
  isOn(id: string): boolean {
    return this.#entries[ENABLED + id] !== false;
  }

  /** Switch a plugin on or off; rejects, and changes nothing, when that cannot be saved. */
  setOn(id: string, on: boolean): Promise<void> {
    return this.set(ENABLED + id, on ? undefined : false);
  }

  /** Whether updates are looked for once a day. */
  get checksDaily(): boolean {
    return this.#entries[AUTO_CHECK] !== false;
  }

  setChecksDaily(on: boolean): Promise<void> {
    return this.set(AUTO_CHECK, on);
  }

  /** When updates were last looked for, in milliseconds since the epoch; 0 for never. */
  get checkedAt(): number {
    const at = this.#entries[CHECKED];
    return typeof at === "number" ? at : 0;
  }

  setCheckedAt(at: number): Promise<void> {
    return this.set(CHECKED, at);
  }

  /** Whether the update of a plugin to this commit is skipped. */
  isSkipped(id: string, commit: string): boolean {
    return this.#entries[SKIPPED + id] === commit;
  }

  skip(id: string, commit: string): Promise<void> {
    return this.set(SKIPPED + id, commit);
  }

  /** Forget the switches and the skipped updates of plugins that are not installed. */
  async compare(installed: readonly { readonly id: string }[]): Promise<void> {
    const kept = new Set(installed.flatMap(({ id }) => [ENABLED + id, SKIPPED + id]));
    for (const key of Object.keys(this.#entries)) {
      if ((key.startsWith(ENABLED) || key.startsWith(SKIPPED)) && !kept.has(key)) {
        await this.set(key);
      }
    }
  }

  /** Change an entry, or remove it; rejects, and changes nothing, when that cannot be saved. */
  async set(key: string, value?: Json): Promise<void> {
    await storeEntry(this.#caller, NAMESPACE, key, value, () => this.refresh());
    const { [key]: _, ...rest } = this.#entries;
    this.#entries = value === undefined ? rest : { ...rest, [key]: value };
    this.changed.emit();
    this.saved.emit();
  }
}
