import { PermissionError } from "@bridge/plugin-api";

import type { Grant, GrantBook } from "./grants.js";
import type { Manifest } from "./manifest.js";
import { useOf, wordsOf } from "./permissionwords.js";
import type { Signal } from "./signal.js";

/** What a plugin wants to do, for the user to decide. */
export interface Use {
  readonly id: string;
  readonly name: string;
  /** What it is, to follow "Let Bio". */
  readonly words: string;
  readonly detail: string;
  /** The same for each question about the same thing. */
  readonly about: string;
  /** Whether the user has allowed it by now, as in another tab. */
  readonly isAllowed: () => boolean;
}

/** Asks the user what plugins may do. */
export interface Asker {
  /** Ask; resolves to `true` for yes. */
  ask(use: Use): Promise<boolean>;
  /** Answer whatever a plugin still asks with no: it is switched off. */
  withdraw(id: string): void;
  /** A yes could not be saved, so it does not count; the value is the plugin's id. */
  readonly unsaved: Signal<string>;
}

/**
 * The permissions of one plugin that runs.
 *
 * A permission has to be in its manifest, and the user is asked once for each thing
 * done with it.  A yes is kept by the daemon.
 */
export class Gate {
  readonly manifest: Manifest;
  readonly #grants: GrantBook;
  readonly #asker: Asker;
  readonly #asking = new Map<string, Promise<boolean>>();
  #closed = false;

  constructor(manifest: Manifest, grants: GrantBook, asker: Asker) {
    this.manifest = manifest;
    this.#grants = grants;
    this.#asker = asker;
  }

  /**
   * Return only when the plugin may do this.
   *
   * @param kind The permission, such as `native`.
   * @param target What is done with it, such as `notify/send`.
   * @throws PermissionError It may not.
   */
  async pass(kind: string, target: string): Promise<void> {
    this.#checkOpen();
    const { permissions, optionalPermissions } = this.manifest;
    if (![...permissions, ...optionalPermissions].includes(kind)) {
      throw new PermissionError(`the manifest does not ask for the permission ${kind}`);
    }
    const name = `${kind} ${target}`;
    let answer = this.#asking.get(name);
    if (answer === undefined) {
      const done = (): void => void this.#asking.delete(name);
      answer = this.#decide(name, { kind, target });
      this.#asking.set(name, answer);
      answer.then(done, done);
    }
    const yes = await answer;
    this.#checkOpen();
    if (!yes) {
      throw new PermissionError(`the user does not allow ${name}`);
    }
  }

  /** Whether what the user allowed was not revoked since, maybe in another page. */
  keeps(kind: string, target?: string): boolean {
    return this.#grants.keeps(this.manifest.id, kind, target);
  }

  /** Refuse everything from now on: the plugin is switched off. */
  close(): void {
    this.#closed = true;
    this.#asker.withdraw(this.manifest.id);
  }

  #checkOpen(): void {
    if (this.#closed) {
      throw new PermissionError("the plugin is switched off");
    }
  }

  async #decide(about: string, wanted: Grant): Promise<boolean> {
    const { id } = this.manifest;
    const isAllowed = (): boolean => this.keeps(wanted.kind, wanted.target);
    await this.#grants.all(id);
    if (isAllowed()) {
      return true;
    }
    this.#checkOpen();
    const yes = await this.#asker.ask({ ...useFor(this.manifest, wanted), about, isAllowed });
    if (yes && !this.#closed && !isAllowed()) {
      await this.#grants.add(id, wanted).catch((e: unknown) => {
        this.#asker.unsaved.emit(id);
        throw e;
      });
    }
    return yes;
  }
}

function useFor({ id, name, hosts }: Manifest, { kind, target }: Grant): Omit<Use, "about" | "isAllowed"> {
  const { meaning } = wordsOf(kind);
  const all = `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`;
  // A site is asked about without the usual port, which a manifest may name.
  const named = hosts.map((host) => host.replace(/:443$/, ""));
  const undeclared = kind === "network" && !named.includes(target);
  return {
    id,
    name,
    words: useOf(kind, target),
    detail: undeclared
      ? `${all} The plugin did not name this site when it was installed.`
      : all,
  };
}
