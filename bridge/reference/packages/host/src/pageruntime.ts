import type { Logger } from "@bridge/plugin-api";

import { concurrencyLimiter } from "./concurrency.js";
import type { Daemon } from "./daemon.js";
import type { Environment } from "./environment.js";
import { GrantBook, type Installed } from "./grants.js";
import { type Place, makeInstance } from "./instance.js";
import { HOST_SCOPE, type Log, describe } from "./log.js";
import { type Manifest, readManifest } from "./manifest.js";
import { OscHub } from "./osc.js";
import type { Asker } from "./permissions.js";
import { useOf, wordsOf } from "./permissionwords.js";
import { type Compiled, type Entry, Plugins } from "./plugins.js";
import type { PermissionState, PluginState, Runtime, SafeMode, Switched } from "./runtime.js";
import type { Schema } from "./schema.js";
import type { Saving, Values } from "./settings.js";
import { Signal } from "./signal.js";
import { StartMarks } from "./startmarks.js";
import { Switches } from "./switches.js";
import { Turns } from "./turns.js";

// More at once would have to wait longer than they may: the daemon answers five a second.
const READ_AT_ONCE = 3;

/** What the runtime is made of. */
export interface RuntimeParts {
  readonly daemon: Daemon;
  readonly log: Log;
  readonly environment: Pick<Environment, "later" | "now">;
  readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  readonly asker: Asker;
  /** Make the place for a plugin's cards. */
  readonly place: (manifest: Manifest, logger: Logger) => Place;
  /** Whether the address asks for safe mode. */
  readonly safe: boolean;
  /** Safe mode is over: remove it from the address. */
  readonly leftSafeMode: () => void;
}

/** Make the runtime; it starts the plugins whenever the daemon accepts the page. */
export function createRuntime(table: readonly Entry[], parts: RuntimeParts): PageRuntime {
  return new PageRuntime(table, parts);
}

/** The runtime of a page. */
export class PageRuntime implements Runtime {
  /** What starts and stops the plugins. */
  readonly manager: Plugins;
  readonly #parts: RuntimeParts;
  readonly #switches: Switches;
  readonly #marks: StartMarks;
  readonly #grants: GrantBook;
  readonly #changed = new Signal();
  #safeMode: SafeMode;

  constructor(table: readonly Entry[], parts: RuntimeParts) {
    const { daemon, environment, log } = parts;
    this.#parts = parts;
    this.#switches = new Switches(daemon);
    this.#grants = new GrantBook(daemon, () => this.#changed.emit());
    this.#marks = new StartMarks(parts.storage, environment);
    const ids = table.flatMap(({ manifest }) => readManifest(manifest)?.id ?? []);
    const suspects = this.#marks.suspects(ids);
    const held = parts.safe || suspects.length > 0;
    this.#safeMode = safeMode(held, suspects);
    const inTurn = concurrencyLimiter(READ_AT_ONCE);
    const shared = {
      ...parts,
      hub: new OscHub(daemon, log),
      logger: (id: string) => log.scope(id),
      grants: (id: string) => this.#grants.of(id),
    };
    const turns = new Turns(daemon, environment);
    this.manager = new Plugins(
      table,
      {
        makeInstance: (manifest) => inTurn(() => makeInstance(manifest, { ...shared, caller: turns.of() })),
        isOn: (id) => this.#switches.isOn(id),
        marks: this.#marks,
        later: environment.later,
        log,
      },
      held,
    );
    this.manager.changed.listen(() => this.#changed.emit());
    daemon.opened.listen(() => void this.#opened());
  }

  get safeMode(): SafeMode {
    return this.#safeMode;
  }

  plugins(): readonly PluginState[] {
    return this.manager.all.map((compiled) => this.#stateOf(compiled));
  }

  enabled(id: string): boolean {
    return this.#switches.isOn(id);
  }

  async setEnabled(id: string, on: boolean): Promise<Switched> {
    try {
      await this.#switches.set(id, on);
    } catch (e) {
      this.#note("the switch of a plugin could not be saved", e);
      return "not-saved";
    }
    if (!on && this.#safeMode.suspects.includes(id)) {
      this.#removeMarks();
    }
    const done = on ? this.manager.switchOn(id) : this.manager.switchOff(id);
    return (await done) ? "done" : "reload";
  }

  async grants(id: string): Promise<readonly PermissionState[]> {
    const manifest = this.manager.find(id)?.manifest;
    if (manifest === undefined) {
      return [];
    }
    const all = await this.#grants.of(id).all();
    const states = manifest.permissions.map((permission) => ({
      ...wordsOf(permission),
      permission,
      optional: manifest.optional.includes(permission),
      named: namedUnder(permission, manifest),
      granted: all
        .filter(({ kind }) => kind === permission)
        .map(({ target }) => ({ target, words: useOf(permission, target) })),
    }));
    return [...states.filter(({ risky }) => risky), ...states.filter(({ risky }) => !risky)];
  }

  async revoke(id: string, permission: string): Promise<boolean> {
    try {
      await this.#grants.of(id).remove(permission);
    } catch (e) {
      this.#note("a permission could not be revoked", e);
      return false;
    }
    this.manager.find(id)?.instance?.revoked(permission);
    return true;
  }

  settingsSchema(id: string): Schema | undefined {
    return this.manager.find(id)?.schema;
  }

  settings(id: string): Values {
    return this.manager.find(id)?.instance?.settings.form ?? {};
  }

  saveSettings(id: string, values: Values): Promise<Saving> {
    return this.#saving(this.manager.find(id)?.instance?.settings.save(values));
  }

  resetSettings(id: string): Promise<Saving> {
    return this.#saving(this.manager.find(id)?.instance?.settings.reset());
  }

  async installed(plugins: readonly Installed[]): Promise<void> {
    try {
      await this.#grants.compare(plugins, await this.#switches.read());
      await this.#switches.compare(plugins);
    } catch (e) {
      this.#note("what is kept of removed plugins could not be removed", e);
    }
    this.#changed.emit();
  }

  async leaveSafeMode(): Promise<void> {
    this.#removeMarks();
    this.#safeMode = safeMode(false, []);
    this.#parts.leftSafeMode();
    this.manager.release();
    if (this.#switches.known) {
      await this.manager.start();
    }
    this.#changed.emit();
  }

  left(): void {
    this.#marks.left();
  }

  on(change: () => void): () => void {
    return this.#changed.listen(change);
  }

  async #opened(): Promise<void> {
    this.#grants.forgetRead();
    try {
      await this.#switches.read();
    } catch (e) {
      // Nothing starts: a plugin that is off must not run because of a lost answer.
      this.#note("the switches of the plugins could not be read", e);
      return;
    }
    this.#changed.emit();
    await this.manager.start();
  }

  #removeMarks(): void {
    for (const { manifest } of this.manager.all) {
      this.#marks.remove(manifest.id);
    }
  }

  async #saving(saving: Promise<Saving> | undefined): Promise<Saving> {
    const result = (await saving) ?? { outcome: "not-saved" };
    this.#changed.emit();
    return result;
  }

  #stateOf({ manifest, stage, error, spent }: Compiled): PluginState {
    const { id, name, version, description } = manifest;
    const enabled = this.#switches.isOn(id);
    // Evaluated, and not ended: it goes on, or cannot start again.
    const needsReload = spent && (stage === "off" || !enabled);
    return { id, name, version, description, stage, error, enabled, needsReload };
  }

  #note(what: string, error: unknown): void {
    this.#parts.log.add("warn", HOST_SCOPE, `${what}: ${describe(error)}`);
  }
}

function safeMode(active: boolean, suspects: readonly string[]): SafeMode {
  const [culprit] = suspects;
  return suspects.length === 1 && culprit !== undefined
    ? { active, culprit, suspects }
    : { active, suspects };
}

function namedUnder(permission: string, manifest: Manifest): readonly string[] {
  switch (permission) {
    case "network":
      return manifest.hosts;
    case "host:events":
      return manifest.events;
    case "host:actions":
      return manifest.actions;
    default:
      return [];
  }
}
