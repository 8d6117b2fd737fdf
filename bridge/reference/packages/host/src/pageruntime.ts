import type { Logger } from "@bridge/plugin-api";

import { concurrencyLimiter } from "./concurrency.js";
import type { Daemon } from "./daemon.js";
import type { Environment } from "./environment.js";
import { GrantBook, type Installed } from "./grants.js";
import { Instance, type Place } from "./instance.js";
import { HOST_SCOPE, type Log, describe } from "./log.js";
import type { Manifest } from "./manifest.js";
import { OscHub } from "./osc.js";
import { type Asker, Gate } from "./permissions.js";
import { useOf, wordsOf } from "./permissionwords.js";
import { type Compiled, type Entry, Plugins } from "./plugins.js";
import type { PermissionState, PluginState, Runtime, SafeMode, Switched } from "./runtime.js";
import type { Realms } from "./realm/realms.js";
import type { Script } from "./realm/script.js";
import type { Schema } from "./schema.js";
import { type Saving, StoredSettings, type Values, forgetSettings } from "./settings.js";
import { Signal } from "./signal.js";
import { Switches } from "./switches.js";
import { Turns } from "./turns.js";

// They are calls of the page, of which the daemon answers so many at once.
const READ_AT_ONCE = 3;

/** What the runtime is made of. */
export interface RuntimeParts {
  readonly daemon: Daemon;
  readonly log: Log;
  readonly environment: Pick<Environment, "later" | "now">;
  readonly realms: Realms;
  /** The script that runs before a plugin's text in its realm. */
  readonly realmRuntime: string;
  /** Whether the page is shown. */
  readonly isVisible: () => boolean;
  readonly asker: Asker;
  /** Make the place for a plugin's cards. */
  readonly place: (manifest: Manifest, logger: Logger) => Place;
  /** Whether the address asks for safe mode. */
  readonly safe: boolean;
  /** Safe mode is over: remove it from the address. */
  readonly leftSafeMode: () => void;
}

/** The runtime of a page; it starts the plugins whenever the daemon accepts the page. */
export class PageRuntime implements Runtime {
  /** What starts and stops the plugins. */
  readonly lifecycle: Plugins;
  readonly #parts: RuntimeParts;
  readonly #switches: Switches;
  readonly #hub: OscHub;
  readonly #turns: Turns;
  readonly #grants: GrantBook;
  readonly #changed = new Signal();
  readonly #inTurn = concurrencyLimiter(READ_AT_ONCE);
  #safeMode: SafeMode;

  constructor(table: readonly Entry[], parts: RuntimeParts) {
    const { daemon, environment, log } = parts;
    this.#parts = parts;
    this.#switches = new Switches(daemon);
    this.#grants = new GrantBook(daemon, () => this.#changed.emit());
    this.#hub = new OscHub(daemon, log);
    this.#turns = new Turns(daemon, environment);
    this.#safeMode = { active: parts.safe };
    const pluginParts = {
      ...parts,
      makeInstance: (manifest: Manifest, script: Script) => this.#makeInstance(manifest, script),
      isOn: (id: string) => this.#switches.isOn(id),
    };
    this.lifecycle = new Plugins(table, pluginParts, parts.safe);
    this.lifecycle.changed.listen(() => this.#changed.emit());
    daemon.opened.listen(() => void this.#opened());
  }

  get safeMode(): SafeMode {
    return this.#safeMode;
  }

  plugins(): readonly PluginState[] {
    return this.lifecycle.all.map((compiled) => this.#stateOf(compiled));
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
    await (on ? this.lifecycle.switchOn(id) : this.lifecycle.switchOff(id));
    return "done";
  }

  async grants(id: string): Promise<readonly PermissionState[]> {
    const manifest = this.lifecycle.find(id)?.manifest;
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
    this.lifecycle.find(id)?.instance?.revoked(permission);
    return true;
  }

  settingsSchema(id: string): Schema | undefined {
    return this.lifecycle.find(id)?.instance?.schema;
  }

  settings(id: string): Values {
    return this.lifecycle.find(id)?.instance?.settings.form ?? {};
  }

  saveSettings(id: string, values: Values): Promise<Saving> {
    return this.#saving(this.lifecycle.find(id)?.instance?.settings.save(values));
  }

  resetSettings(id: string): Promise<Saving> {
    return this.#saving(this.lifecycle.find(id)?.instance?.settings.reset());
  }

  async installed(plugins: readonly Installed[]): Promise<void> {
    const gone = this.lifecycle.installed(new Set(plugins.map(({ id }) => id)));
    try {
      for (const id of gone) {
        await forgetSettings(this.#parts.daemon, id);
      }
      await this.#grants.compare(plugins, await this.#switches.read());
      await this.#switches.compare(plugins);
    } catch (e) {
      this.#note("what is kept of removed plugins could not be removed", e);
    }
    this.#changed.emit();
  }

  async leaveSafeMode(): Promise<void> {
    this.#safeMode = { active: false };
    this.#parts.leftSafeMode();
    this.lifecycle.release();
    if (this.#switches.known) {
      await this.lifecycle.start();
    }
    this.#changed.emit();
  }

  close(): void {
    this.lifecycle.close();
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
    await this.lifecycle.start();
  }

  async #makeInstance(manifest: Manifest, script: Script): Promise<Instance> {
    const { id } = manifest;
    const { asker, daemon, environment, isVisible, log, place, realms } = this.#parts;
    const caller = this.#turns.of();
    const logger = log.scope(id);
    const settings = await this.#inTurn(() =>
      // What listens is the page's own.
      StoredSettings.read(daemon, caller, id, () => undefined),
    );
    return new Instance({
      manifest,
      script,
      realms,
      settings,
      caller,
      gate: new Gate(manifest, this.#grants.of(id), asker),
      hub: this.#hub,
      place: place(manifest, logger),
      logger,
      environment,
      isVisible,
    });
  }

  async #saving(saving: Promise<Saving> | undefined): Promise<Saving> {
    const result = (await saving) ?? { outcome: "not-saved" };
    this.#changed.emit();
    return result;
  }

  #stateOf({ manifest, stage, error, instance }: Compiled): PluginState {
    const { id, name, version, description } = manifest;
    const enabled = this.#switches.isOn(id);
    const silent = instance?.isSilent === true;
    return { id, name, version, description, stage, error, enabled, silent };
  }

  #note(what: string, error: unknown): void {
    this.#parts.log.add("warn", HOST_SCOPE, `${what}: ${describe(error)}`);
  }
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
