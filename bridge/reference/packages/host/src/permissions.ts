import { PermissionError } from "@bridge/plugin-api";

import type { Grant, Grants } from "./grants.js";
import type { Manifest } from "./manifest.js";
import { useOf, wordsOf } from "./permissionwords.js";

/** Asks the user a question; resolves to `true` for yes. */
export type Ask = (question: string, detail: string) => Promise<boolean>;

/**
 * The permissions of one plugin that runs.
 *
 * A permission has to be in its manifest, and the user is asked once for each thing
 * done with it.  A yes is kept by the daemon; a no lasts until the page is left.
 */
export class Gate {
  readonly #manifest: Manifest;
  readonly #grants: Grants;
  readonly #ask: Ask;
  readonly #asking = new Map<string, Promise<boolean>>();
  readonly #denied = new Set<string>();
  #closed = false;

  constructor(manifest: Manifest, grants: Grants, ask: Ask) {
    this.#manifest = manifest;
    this.#grants = grants;
    this.#ask = ask;
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
    if (!this.#manifest.permissions.includes(kind)) {
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

  /** Refuse everything from now on: the plugin is switched off. */
  close(): void {
    this.#closed = true;
  }

  #checkOpen(): void {
    if (this.#closed) {
      throw new PermissionError("the plugin is switched off");
    }
  }

  async #decide(name: string, wanted: Grant): Promise<boolean> {
    if (this.#denied.has(name)) {
      return false;
    }
    if (await this.#grants.has(wanted)) {
      return true;
    }
    const yes = await this.#ask(...question(this.#manifest, wanted));
    if (!yes) {
      this.#denied.add(name);
    } else if (!this.#closed) {
      await this.#grants.add(wanted);
    }
    return yes;
  }
}

function question({ name, hosts }: Manifest, { kind, target }: Grant): [string, string] {
  const { meaning } = wordsOf(kind);
  const detail = `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`;
  const undeclared = kind === "network" && !hosts.includes(target);
  return [
    `Let ${name} ${useOf(kind, target)}?`,
    undeclared ? `${detail} The plugin did not name this site when it was installed.` : detail,
  ];
}
