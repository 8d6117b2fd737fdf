import { PermissionError } from "@bridge/plugin-api";

import type { Connection } from "./connection.js";
import type { Manifest } from "./manifest.js";
import { fields, list, text } from "./wire.js";

/** Asks the user a question; resolves to `true` for yes. */
export type Ask = (question: string, detail: string) => Promise<boolean>;

interface Grant {
  readonly kind: string;
  readonly target: string;
}

/**
 * The permissions of one plugin.
 *
 * A permission has to be in its manifest, and the user is asked once for each thing
 * done with it.  A yes is kept by the daemon; a no lasts until the page is left.
 */
export class Gate {
  readonly #manifest: Manifest;
  readonly #caller: Pick<Connection, "call">;
  readonly #ask: Ask;
  readonly #answers = new Map<string, Promise<boolean>>();
  #grants: readonly Grant[] | undefined;

  constructor(manifest: Manifest, caller: Pick<Connection, "call">, ask: Ask) {
    this.#manifest = manifest;
    this.#caller = caller;
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
    if (!this.#manifest.permissions.includes(kind)) {
      throw new PermissionError(`the manifest does not ask for the permission ${kind}`);
    }
    const name = `${kind} ${target}`;
    let answer = this.#answers.get(name);
    if (answer === undefined) {
      answer = this.#decide({ kind, target });
      this.#answers.set(name, answer);
      answer.catch(() => this.#answers.delete(name));
    }
    if (!(await answer)) {
      throw new PermissionError(`the user does not allow ${target}`);
    }
  }

  async #decide(wanted: Grant): Promise<boolean> {
    const grants = await this.#saved();
    if (grants.some((grant) => same(grant, wanted))) {
      return true;
    }
    const { id, name } = this.#manifest;
    const yes = await this.#ask(
      `Let “${name}” use ${wanted.target}?`,
      `The plugin ${id} wants to use the daemon's ${wanted.target} for the first time.`,
    );
    if (yes) {
      this.#grants = [...(this.#grants ?? []), wanted];
      await this.#caller.call("state", "set", {
        ns: "host",
        key: `grants:${id}`,
        value: this.#grants,
      });
    }
    return yes;
  }

  async #saved(): Promise<readonly Grant[]> {
    if (this.#grants === undefined) {
      const key = `grants:${this.#manifest.id}`;
      const answer = await this.#caller.call("state", "get", { ns: "host", key });
      this.#grants ??= list(fields(answer)["value"]).map(fields).map((grant) => ({
        kind: text(grant["kind"]),
        target: text(grant["target"]),
      }));
    }
    return this.#grants;
  }
}

function same(one: Grant, other: Grant): boolean {
  return one.kind === other.kind && one.target === other.target;
}
