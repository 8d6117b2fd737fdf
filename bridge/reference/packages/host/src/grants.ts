import type { Caller } from "./daemon.js";
import { fields, list, text } from "./wire.js";

/** A use of a permission the user allowed, such as `network` for `api.example.org`. */
export interface Grant {
  readonly kind: string;
  readonly target: string;
}

const PREFIX = "grants:";

/** The key of the host under which the grants of a plugin are. */
export function grantsKey(id: string): string {
  return PREFIX + id;
}

/** The plugin that a key of the host holds the grants of; `undefined` for other keys. */
export function grantedPlugin(key: string): string | undefined {
  return key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;
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
    this.#entry = { ns: "host", key: grantsKey(id) };
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

  // One after another, and each from what the daemon has now: a grant that another page
  // has revoked must not come back.
  #change(to: (grants: readonly Grant[]) => readonly Grant[]): Promise<void> {
    const change = this.#writing.then(async () => {
      const value = to(await this.#read());
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
