import type { Caller } from "./daemon.js";
import { fields, list, text } from "./wire.js";

/** A use of a permission the user allowed, such as `network` for `api.example.org`. */
export interface Grant {
  readonly kind: string;
  readonly target: string;
}

/** What the user allowed one plugin, kept by the daemon. */
export class Grants {
  readonly #caller: Caller;
  readonly #entry: { readonly ns: string; readonly key: string };
  readonly #changed: () => void;
  #known: Promise<readonly Grant[]> | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  /** @param changed Called after each change that was saved. */
  constructor(caller: Caller, id: string, changed = (): void => undefined) {
    this.#caller = caller;
    this.#changed = changed;
    this.#entry = { ns: "host", key: `grants:${id}` };
  }

  /** Return all of them; asks the daemon once. */
  all(): Promise<readonly Grant[]> {
    const known = (this.#known ??= this.#read());
    known.catch(() => {
      this.#known = undefined;
    });
    return known;
  }

  async has(wanted: Grant): Promise<boolean> {
    return (await this.all()).some((grant) => same(grant, wanted));
  }

  /** Add one; rejects, and changes nothing, when it cannot be saved. */
  add(grant: Grant): Promise<void> {
    return this.#change((grants) => [...grants.filter((one) => !same(one, grant)), grant]);
  }

  /** Remove all of one kind; rejects, and changes nothing, when that cannot be saved. */
  remove(kind: string): Promise<void> {
    return this.#change((grants) => grants.filter((grant) => grant.kind !== kind));
  }

  /** Forget what was read, so that changes by another page are seen. */
  forget(): void {
    this.#known = undefined;
  }

  // One after another: each starts from what the one before left.
  #change(to: (grants: readonly Grant[]) => readonly Grant[]): Promise<void> {
    const change = this.#writing.then(async () => {
      const value = to(await this.all());
      await this.#caller.call("state", "set", { ...this.#entry, value });
      this.#known = Promise.resolve(value);
      this.#changed();
    });
    this.#writing = change.catch(() => undefined);
    return change;
  }

  async #read(): Promise<readonly Grant[]> {
    const answer = await this.#caller.call("state", "get", this.#entry);
    return list(fields(answer)["value"]).map(fields).map((grant) => ({
      kind: text(grant["kind"]),
      target: text(grant["target"]),
    }));
  }
}

function same(one: Grant, other: Grant): boolean {
  return one.kind === other.kind && one.target === other.target;
}
