import { BridgeError } from "@bridge/plugin-api";

import type { Caller } from "./link.js";
import { fields, list, text } from "./wire.js";

/** A use of a permission the user allowed, such as `network` for `api.example.org`. */
export interface Grant {
  readonly kind: string;
  readonly target: string;
}

/** A plugin that is installed, as the daemon lists it. */
export interface Installed {
  readonly id: string;
  /**
   * Of its author's key; empty where there is none, as with a linked directory.
   *
   * `undefined` where it is not known, as with a tree that cannot be read.
   */
  readonly keyId: string | undefined;
}

const PREFIX = "grants:";

/** The grants of all plugins, and by whose key each plugin is signed. */
export class GrantBook {
  readonly #caller: Caller;
  readonly #changed: () => void;
  readonly #grants = new Map<string, Grants>();
  // Of what was installed when it was first listed here, and so is in this page's bundle.
  readonly #keys = new Map<string, string>();
  #installed: ReadonlySet<string> = new Set();
  #listed: () => void = () => undefined;
  readonly #list = new Promise<void>((resolve) => {
    this.#listed = resolve;
  });

  /** @param changed Called after each change that was saved. */
  constructor(caller: Caller, changed: () => void) {
    this.#caller = caller;
    this.#changed = changed;
  }

  of(id: string): Grants {
    const known = this.#grants.get(id) ?? this.#make(id);
    this.#grants.set(id, known);
    return known;
  }

  /** Forget what was read, so that changes by another page are seen. */
  forgetRead(): void {
    for (const grants of this.#grants.values()) {
      grants.forget();
    }
  }

  /**
   * Compare what is stored with what is installed.
   *
   * The grants of a plugin that is gone, or is another author's by now, are removed; those
   * that were stored without a key, by earlier versions, become the installed plugin's.
   *
   * @param stored All entries of the namespace `host`.
   */
  async compare(
    installed: readonly Installed[],
    stored: { readonly [key: string]: unknown },
  ): Promise<void> {
    const byId = new Map(installed.map((plugin) => [plugin.id, plugin]));
    this.#installed = new Set(byId.keys());
    for (const { id, keyId } of installed) {
      const known = this.#keys.get(id) ?? keyId;
      if (known !== undefined) {
        this.#keys.set(id, known);
      }
    }
    this.#listed();
    for (const [key, value] of Object.entries(stored)) {
      if (key.startsWith(PREFIX)) {
        await this.#settle(key, value, byId.get(key.slice(PREFIX.length)));
      }
    }
    this.forgetRead();
  }

  async #settle(key: string, value: unknown, plugin: Installed | undefined): Promise<void> {
    const entry = { ns: "host", key };
    if (plugin === undefined) {
      await this.#caller.call("state/delete", entry);
      return;
    }
    const { keyId } = plugin;
    if (keyId === undefined || keyId === keyOf(value)) {
      return;
    }
    if (Array.isArray(value)) {
      const allowed = readGrants(value);
      await this.#caller.call("state/set", { ...entry, value: { keyId, allowed } });
    } else {
      await this.#caller.call("state/delete", entry);
    }
  }

  #make(id: string): Grants {
    const ownKey = async (): Promise<string> => {
      await this.#list;
      const keyId = this.#keys.get(id);
      if (keyId === undefined || !this.#installed.has(id)) {
        throw new BridgeError("unavailable", "the plugin is not installed");
      }
      return keyId;
    };
    return new Grants(this.#caller, id, ownKey, this.#changed);
  }
}

/** What the user allowed one plugin, kept by the daemon for its id and its author's key. */
export class Grants {
  readonly #caller: Caller;
  readonly #entry: { readonly ns: string; readonly key: string };
  readonly #ownKey: () => Promise<string>;
  readonly #changed: () => void;
  #known: Promise<readonly Grant[]> | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  /**
   * @param ownKey Returns by whose key it is signed; rejects when it is not installed.
   * @param changed Called after each change that was saved.
   */
  constructor(
    caller: Caller,
    id: string,
    ownKey: () => Promise<string>,
    changed = (): void => undefined,
  ) {
    this.#caller = caller;
    this.#ownKey = ownKey;
    this.#changed = changed;
    this.#entry = { ns: "host", key: PREFIX + id };
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
      const keyId = await this.#ownKey();
      const stored = await this.#stored();
      if (![undefined, keyId].includes(keyOf(stored))) {
        throw new BridgeError("unavailable", "another author's plugin has this id by now");
      }
      const allowed = to(readGrants(stored));
      await this.#caller.call("state/set", { ...this.#entry, value: { keyId, allowed } });
      this.#known = Promise.resolve(allowed);
      this.#changed();
    });
    this.#writing = change.catch(() => undefined);
    return change;
  }

  async #read(): Promise<readonly Grant[]> {
    const keyId = await this.#ownKey();
    const stored = await this.#stored();
    return [undefined, keyId].includes(keyOf(stored)) ? readGrants(stored) : [];
  }

  async #stored(): Promise<unknown> {
    return (await this.#caller.call("state/get", this.#entry)).value;
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
