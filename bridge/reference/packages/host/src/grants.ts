import { BridgeError } from "@bridge/plugin-api";

import type { HostState } from "./hoststate.js";
import { fields, list, text } from "./wire.js";

/** A use of a permission the user allowed, such as `network` for `api.example.org`. */
export type Grant = { readonly kind: string; readonly target: string };

/** A plugin that is installed, as the daemon lists it. */
export interface Installed {
  readonly id: string;
  /**
   * Of its author's key; empty where there is none, as with a linked directory.
   *
   * `undefined` where it is not known, as with a tree that cannot be read.
   */
  readonly keyId: string | undefined;
  /** Whether it is a linked directory, whose link ends and comes again. */
  readonly dev?: boolean | undefined;
}

const PREFIX = "grants:";

/**
 * What the user allowed the plugins, kept in the page's state.
 *
 * It belongs to a plugin's id and to its author's key. Nothing is allowed before the daemon
 * has listed what is installed.
 */
export class GrantBook {
  readonly #state: HostState;
  // Of what was installed when it was first listed here, and so is in this page's bundle.
  readonly #keys = new Map<string, string>();
  #installed: ReadonlySet<string> = new Set();
  #listed: () => void = () => undefined;
  readonly #list = new Promise<void>((resolve) => {
    this.#listed = resolve;
  });
  #writing: Promise<unknown> = Promise.resolve();

  constructor(state: HostState) {
    this.#state = state;
  }

  /**
   * What a plugin was allowed.
   *
   * Rejects with `BridgeError` when it is not installed.
   */
  async all(id: string): Promise<readonly Grant[]> {
    await this.#ownKey(id);
    await this.#state.ready();
    return this.#known(id);
  }

  /** Whether a plugin is allowed something, or anything of a kind, as far as it is known here. */
  keeps(id: string, kind: string, target?: string): boolean {
    return this.#known(id).some((one) => same(one, { kind, target: target ?? one.target }));
  }

  /** Add one; rejects, and changes nothing, when it cannot be saved. */
  add(id: string, grant: Grant): Promise<void> {
    return this.#change(id, (grants) => [...grants.filter((one) => !same(one, grant)), grant]);
  }

  /** Remove all of one kind; rejects, and changes nothing, when that cannot be saved. */
  remove(id: string, kind: string): Promise<void> {
    return this.#change(id, (grants) => grants.filter((grant) => grant.kind !== kind));
  }

  /**
   * Compare what is stored with what is installed.
   *
   * The grants of a plugin that is gone, or is another author's by now, are removed; those
   * that were stored without a key, by earlier versions, become the installed plugin's.
   */
  async compare(installed: readonly Installed[]): Promise<void> {
    const byId = new Map(installed.map((plugin) => [plugin.id, plugin]));
    this.#installed = new Set(byId.keys());
    for (const { id, keyId } of installed) {
      const known = this.#keys.get(id) ?? keyId;
      if (known !== undefined) {
        this.#keys.set(id, known);
      }
    }
    this.#listed();
    await this.#state.read();
    for (const [key, value] of Object.entries(this.#state.entries)) {
      if (key.startsWith(PREFIX)) {
        await this.#settle(key, value, byId.get(key.slice(PREFIX.length)));
      }
    }
  }

  async #settle(key: string, value: unknown, plugin: Installed | undefined): Promise<void> {
    if (plugin === undefined) {
      await this.#state.set(key);
      return;
    }
    const { keyId } = plugin;
    if (keyId === undefined || keyId === keyOf(value)) {
      return;
    }
    if (Array.isArray(value)) {
      await this.#state.set(key, { keyId, allowed: readGrants(value) });
    } else {
      await this.#state.set(key);
    }
  }

  // One after another, and each from what the daemon has now: a grant that another page
  // has revoked must not come back, unless it does so at this very moment.
  #change(id: string, to: (grants: readonly Grant[]) => readonly Grant[]): Promise<void> {
    const change = this.#writing.then(async () => {
      const keyId = await this.#ownKey(id);
      await this.#state.read();
      const stored = this.#stored(id);
      if (![undefined, keyId].includes(keyOf(stored))) {
        throw new BridgeError("unavailable", "another author's plugin has this id by now");
      }
      await this.#state.set(PREFIX + id, { keyId, allowed: to(readGrants(stored)) });
    });
    this.#writing = change.catch(() => undefined);
    return change;
  }

  #known(id: string): readonly Grant[] {
    const stored = this.#stored(id);
    return [undefined, this.#keys.get(id)].includes(keyOf(stored)) ? readGrants(stored) : [];
  }

  #stored(id: string): unknown {
    return this.#state.entries[PREFIX + id];
  }

  async #ownKey(id: string): Promise<string> {
    await this.#list;
    const keyId = this.#keys.get(id);
    if (keyId === undefined || !this.#installed.has(id)) {
      throw new BridgeError("unavailable", "the plugin is not installed");
    }
    return keyId;
  }
}

/** The key that stored grants are for; `undefined` for those of earlier versions. */
function keyOf(stored: unknown): string | undefined {
  const { keyId } = fields(stored);
  return typeof keyId === "string" ? keyId : undefined;
}

function readGrants(stored: unknown): readonly Grant[] {
  const allowed = Array.isArray(stored) ? stored : fields(stored)["allowed"];
  return list(allowed).map(fields).map((grant) => ({
    kind: text(grant["kind"]),
    target: text(grant["target"]),
  }));
}

function same(one: Grant, other: Grant): boolean {
  return one.kind === other.kind && one.target === other.target;
}
