import { Signal } from "../signal.js";
import { fields } from "../wire.js";
import type { Link } from "./link.js";

const AUTO_CHECK = "updates:auto";
const CHECKED = "updates:checked";
const SKIPPED = "skip:";

/** What the model remembers in the daemon's state, for every browser. */
export class HostState {
  readonly changed = new Signal();
  readonly #link: Link;
  #entries: { readonly [key: string]: unknown } = {};

  constructor(link: Link) {
    this.#link = link;
  }

  async read(): Promise<void> {
    const answer = fields(await this.#link.call("state/list", { ns: "host" }));
    this.#entries = fields(answer["entries"]);
    this.changed.emit();
  }

  /** Whether updates are looked for once a day. */
  get checksDaily(): boolean {
    return this.#entries[AUTO_CHECK] !== false;
  }

  setChecksDaily(on: boolean): Promise<void> {
    return this.#set(AUTO_CHECK, on);
  }

  /** When updates were last looked for, in milliseconds since the epoch; 0 for never. */
  get checkedAt(): number {
    const at = this.#entries[CHECKED];
    return typeof at === "number" ? at : 0;
  }

  setCheckedAt(at: number): Promise<void> {
    return this.#set(CHECKED, at);
  }

  /** The commit that is skipped for a plugin; empty for none. */
  skipped(id: string): string {
    const commit = this.#entries[SKIPPED + id];
    return typeof commit === "string" ? commit : "";
  }

  skip(id: string, commit: string): Promise<void> {
    return this.#set(SKIPPED + id, commit);
  }

  /** Forget what is remembered of plugins that are not installed any more. */
  async compare(installed: readonly { readonly id: string }[]): Promise<void> {
    const keys = new Set(installed.map(({ id }) => SKIPPED + id));
    const isGone = (key: string): boolean => key.startsWith(SKIPPED) && !keys.has(key);
    for (const key of Object.keys(this.#entries).filter(isGone)) {
      await this.#link.call("state/delete", { ns: "host", key });
      const { [key]: _, ...rest } = this.#entries;
      this.#entries = rest;
    }
  }

  async #set(key: string, value: unknown): Promise<void> {
    await this.#link.call("state/set", { ns: "host", key, value });
    this.#entries = { ...this.#entries, [key]: value };
    this.changed.emit();
  }
}
