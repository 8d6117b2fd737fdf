import type { About, KeyEntry, ListEntry, Result, Update } from "../../../client/src/index.js";
import type { Environment, Later } from "../environment.js";
import type { HostState } from "../hoststate.js";
import type { Link } from "../link.js";
import type { Persist } from "../persistence.js";
import { Signal } from "../signal.js";
import { entriesOf } from "./entries.js";
import { type Problem, explain } from "./words.js";

// The daemon answers in time, and looks on at the repositories that are slower.
const LOOK_AGAIN_MILLISECONDS = 8_000;
const HOUR_MILLISECONDS = 60 * 60 * 1000;
const DAY_MILLISECONDS = 24 * HOUR_MILLISECONDS;

/** The installed plugins, their updates and the accepted keys, as the daemon has them. */
export class PluginCatalog {
  readonly changed = new Signal();
  /** The daemon listed what is installed. */
  readonly listed = new Signal<readonly ListEntry[]>();
  readonly #link: Link;
  readonly #state: HostState;
  readonly #date: () => number;
  readonly #later: Later;
  readonly #persist: Persist;
  #entries: ReadonlyMap<string, ListEntry> | undefined;
  // What was installed when this page was loaded, and so is in its bundle.
  #loaded: ReadonlyMap<string, ListEntry> | undefined;
  // What is in no list is up to date.
  #outdated: Result<"plugins/check_updates"> = { updates: [], unknown: [], pending: [] };
  #keys: readonly KeyEntry[] | undefined;
  #checking = false;
  #checkedAt = 0;
  #problem: Problem | undefined;
  #cancelDaily = (): void => undefined;

  constructor(link: Link, state: HostState, { date, later }: Environment, persist: Persist) {
    this.#link = link;
    this.#state = state;
    this.#date = date;
    this.#later = later;
    this.#persist = persist;
    // The push lacks the plugins that cannot be used.
    link.on("plugins", () => void this.refresh());
  }

  /** `undefined` before the daemon was asked. */
  get entries(): readonly ListEntry[] | undefined {
    return this.#entries === undefined ? undefined : [...this.#entries.values()];
  }

  find(id: string): ListEntry | undefined {
    return this.#entries?.get(id);
  }

  /** Whether a plugin is not what it was when the page was loaded. */
  isChanged(id: string): boolean {
    const [before, now] = [this.#loaded?.get(id), this.#entries?.get(id)];
    return before?.commit !== now?.commit || before?.updatedAt !== now?.updatedAt;
  }

  /** The updates that are neither installed by now nor skipped. */
  get updates(): readonly Update[] {
    return this.#outdated.updates.filter(({ id, latest }) => {
      const entry = this.#entries?.get(id);
      const isNew = entry !== undefined && entry.commit !== latest;
      return isNew && !this.#state.isSkipped(id, latest);
    });
  }

  /** The ids of plugins of which it is not known whether they are up to date. */
  get notKnown(): readonly string[] {
    const { unknown, pending } = this.#outdated;
    const ids = [...unknown.map(({ id }) => id), ...pending];
    return ids.filter((id) => this.#entries?.has(id));
  }

  update(id: string): Update | undefined {
    return this.updates.find((update) => update.id === id);
  }

  get checking(): boolean {
    return this.#checking;
  }

  /** When this page last looked for updates; 0 for never. */
  get checkedAt(): number {
    return this.#checkedAt;
  }

  /** Why the last check failed. */
  get problem(): Problem | undefined {
    return this.#problem;
  }

  /** The accepted keys; `undefined` before the daemon was asked. */
  get keys(): readonly KeyEntry[] | undefined {
    return this.#keys;
  }

  key(keyId: string): KeyEntry | undefined {
    return this.#keys?.find((key) => key.keyId === keyId);
  }

  /** Ask what an installed plugin shows of itself; nothing when that can't be read. */
  about(id: string): Promise<About | undefined> {
    return this.#link.call("plugins/about", { id }).catch(() => undefined);
  }

  /** Read until the daemon answers what is installed; what shows the keys waits for them. */
  async refresh(): Promise<void> {
    await this.#persist("plugins", async () => {
      const entries = entriesOf(await this.#link.call("plugins/list"));
      this.#entries = new Map(entries.map((entry) => [entry.id, entry]));
      this.#loaded ??= this.#entries;
      this.listed.emit(entries);
      this.changed.emit();
    });
    void this.refreshKeys();
  }

  refreshKeys(): Promise<void> {
    return this.#persist("keys", async () => {
      this.#keys = (await this.#link.call("plugins/keys")).keys;
      this.changed.emit();
    });
  }

  /** Look for updates when that is wanted and was not done for a day, now and from now on. */
  async checkDaily(): Promise<void> {
    this.#cancelDaily();
    // By the hour, as a timer stands still while the computer sleeps.
    this.#cancelDaily = this.#later(HOUR_MILLISECONDS, () => void this.checkDaily());
    const age = this.#date() - this.#state.checkedAt;
    // The clock may have been ahead when it was done.
    const due = age >= DAY_MILLISECONDS || age < 0;
    if (due && this.#link.isOpen && this.#state.checksDaily && (this.#entries?.size ?? 0) > 0) {
      await this.check({});
    }
  }

  /** Look for updates, afresh unless otherwise wanted; a failure is kept in `problem`. */
  async check(how: { fresh?: boolean } = { fresh: true }): Promise<void> {
    this.#checking = true;
    this.#problem = undefined;
    this.changed.emit();
    try {
      await this.#readUpdates(how);
      if (this.#outdated.pending.length > 0) {
        const again = (): void => void this.#readUpdates({}).catch(() => undefined);
        this.#later(LOOK_AGAIN_MILLISECONDS, again);
      }
      this.#state.setCheckedAt(this.#checkedAt).catch(() => undefined);
    } catch (e) {
      this.#problem = explain(e);
    } finally {
      this.#checking = false;
      this.changed.emit();
    }
  }

  async #readUpdates(how: { fresh?: boolean }): Promise<void> {
    this.#outdated = await this.#link.call("plugins/check_updates", how);
    this.#checkedAt = this.#date();
    this.changed.emit();
  }
}
