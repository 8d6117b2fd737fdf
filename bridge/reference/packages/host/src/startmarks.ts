import type { Environment } from "./environment.js";

const PREFIX = "plugin-bridge.starting:";
const SAFE_AFTER_MILLISECONDS = 10_000;
// Somebody who leaves the page sooner may be a plugin that reloads it for ever.
const LEFT_AFTER_MILLISECONDS = 2_000;
const OFTEN = 2;

type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** How far a start got: its synchronous part froze the page, or something later did. */
type Phase = "loading" | "active";

interface Mark {
  readonly count: number;
  readonly phase: Phase;
}

/**
 * Marks in this browser of the plugins that are starting.
 *
 * A mark is made before a plugin is loaded, and removed ten seconds after it was
 * activated; one that is still there at the next start was left by a page that froze
 * or crashed.  A plugin that has left two in a row is a suspect.
 */
export class StartMarks {
  readonly #store: Store;
  readonly #environment: Pick<Environment, "later" | "now">;
  readonly #activated = new Map<string, number>();

  constructor(store: Store, environment: Pick<Environment, "later" | "now">) {
    this.#store = store;
    this.#environment = environment;
  }

  /**
   * The plugins of `ids` whose last two starts may have broken the page.
   *
   * One that never got past its own start is the only suspect: no other was starting.
   */
  suspects(ids: readonly string[]): readonly string[] {
    const often = ids.filter((id) => (this.#read(id)?.count ?? 0) >= OFTEN);
    const loading = often.filter((id) => this.#read(id)?.phase === "loading");
    return loading.length > 0 ? loading : often;
  }

  /** The plugin is about to be loaded. */
  begin(id: string): void {
    const count = Math.min((this.#read(id)?.count ?? 0) + 1, OFTEN);
    this.#write(id, { count, phase: "loading" });
  }

  /** The synchronous part of the start is over. */
  activated(id: string): void {
    const mark = this.#read(id);
    if (mark !== undefined) {
      this.#write(id, { ...mark, phase: "active" });
      this.#activated.set(id, this.#environment.now());
      this.#environment.later(SAFE_AFTER_MILLISECONDS, () => this.remove(id));
    }
  }

  /** Remove the mark: the plugin failed without harm, or somebody decided about it. */
  remove(id: string): void {
    this.#activated.delete(id);
    this.#store.removeItem(PREFIX + id);
  }

  /** The page is being left in good order. */
  left(): void {
    const before = this.#environment.now() - LEFT_AFTER_MILLISECONDS;
    for (const [id, activated] of [...this.#activated]) {
      if (activated <= before) {
        this.remove(id);
      }
    }
  }

  #read(id: string): Mark | undefined {
    const shape = /^([12]) (loading|active)$/.exec(this.#store.getItem(PREFIX + id) ?? "");
    return shape === null
      ? undefined
      : { count: Number(shape[1]), phase: shape[2] === "loading" ? "loading" : "active" };
  }

  #write(id: string, { count, phase }: Mark): void {
    try {
      this.#store.setItem(PREFIX + id, `${count} ${phase}`);
    } catch {
      // A full store: the plugin starts without a mark.
    }
  }
}
