/** The plugins of the page: their switches, permissions, settings, and safe mode. */

import type { Logger } from "@bridge/plugin-api";

import type { Schema } from "../../api/src/schemarules.js";
import { concurrencyLimiter } from "./concurrency.js";
import type { Environment } from "./environment.js";
import { type Grant, GrantBook, type Installed } from "./grants.js";
import type { HostState } from "./hoststate.js";
import { Instance, type Place } from "./instance.js";
import type { Daemon } from "./link.js";
import { HOST_SCOPE, type Log, describe } from "./log.js";
import type { Manifest } from "./manifest.js";
import { OscHub } from "./osc.js";
import { PageSettings, type Saving, forgetSettings, readSettings } from "./pagesettings.js";
import { type Asker, Gate } from "./permissions.js";
import { type Painted, Painting } from "./painting.js";
import type { Persist } from "./persistence.js";
import { type Compiled, type Entry, Plugins, type Stage } from "./plugins.js";
import type { Realms } from "./realm/realms.js";
import type { Script } from "./realm/script.js";
import type { Values } from "./settings.js";
import { Signal } from "./signal.js";
import { Turns } from "./turns.js";

// They are calls of the page, of which the daemon answers so many at once.
const READ_AT_ONCE = 3;

/** A plugin of this bundle. */
export interface PluginState {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly stage: Stage;
  /** Why it failed, or why it still waits; empty otherwise. */
  readonly error: string;
  /** The position of its switch. */
  readonly enabled: boolean;
  /** Whether it runs and does not answer. */
  readonly silent: boolean;
}

/** What the runtime is made of. */
export interface RuntimeParts {
  readonly daemon: Daemon;
  readonly state: HostState;
  readonly log: Log;
  readonly environment: Environment;
  readonly persist: Persist;
  readonly realms: Realms;
  /** The script that runs before a plugin's text in its realm. */
  readonly realmRuntime: string;
  readonly painted: Painted;
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

/** The runtime of a page; it starts the plugins once their switches are known. */
export class PageRuntime {
  /** Anything that the views read here may have changed. */
  readonly changed = new Signal();
  /** What starts and stops the plugins. */
  readonly lifecycle: Plugins;
  readonly #parts: RuntimeParts;
  readonly #hub: OscHub;
  readonly #turns: Turns;
  readonly #grants: GrantBook;
  readonly #painting: Painting;
  readonly #inTurn = concurrencyLimiter(READ_AT_ONCE);
  #isSafe: boolean;
  /** The ids of linked directories, when they were listed last. */
  #linked: ReadonlySet<string> = new Set();

  constructor(table: readonly Entry[], parts: RuntimeParts) {
    const { daemon, environment, log, state } = parts;
    this.#parts = parts;
    this.#grants = new GrantBook(state);
    this.#hub = new OscHub(daemon, log);
    this.#turns = new Turns(daemon, environment);
    this.#painting = new Painting(environment.now, parts.painted);
    this.#isSafe = parts.safe;
    const pluginParts = {
      ...parts,
      readSettings: this.#readSettings.bind(this),
      makeInstance: this.#makeInstance.bind(this),
      isOn: (id: string) => state.isOn(id),
    };
    this.lifecycle = new Plugins(table, pluginParts, parts.safe);
    this.lifecycle.changed.listen(() => this.changed.emit());
    state.wasRead.listen(() => this.lifecycle.follow());
    daemon.opened.listen(() => this.refresh());
  }

  /** Whether the page runs without plugins. */
  get isSafe(): boolean {
    return this.#isSafe;
  }

  /** The plugins of this bundle, those in safe mode and switched off included. */
  plugins(): readonly PluginState[] {
    return this.lifecycle.all.map((compiled) => this.#stateOf(compiled));
  }

  /** Switch a plugin on or off; rejects when that cannot be saved, and so is not done. */
  async setEnabled(id: string, on: boolean): Promise<void> {
    await this.#parts.state.setOn(id, on);
    await (on ? this.lifecycle.switchOn(id) : this.lifecycle.switchOff(id));
  }

  /** The manifest of a plugin of this bundle. */
  manifest(id: string): Manifest | undefined {
    return this.lifecycle.find(id)?.manifest;
  }

  /** What the user allowed a plugin; rejects with `BridgeError`. */
  grants(id: string): Promise<readonly Grant[]> {
    return this.#grants.all(id);
  }

  /**
   * Revoke what the user allowed under a permission; the plugin has to ask again.
   *
   * Rejects, and changes nothing, when that cannot be saved.
   */
  async revoke(id: string, permission: string): Promise<void> {
    await this.#grants.remove(id, permission);
    this.lifecycle.find(id)?.instance?.revoked(permission);
  }

  /**
   * The settings a plugin declares; empty when it has none.
   *
   * `undefined` while it is not loaded: it does not run, or could not be.
   */
  settingsSchema(id: string): Schema | undefined {
    return this.lifecycle.find(id)?.instance?.schema;
  }

  /** The values of the schema by key, defaults included. */
  settings(id: string): Values {
    return this.#settings(id)?.form ?? {};
  }

  saveSettings(id: string, values: Values): Promise<Saving> {
    return this.#saving(id, this.#settings(id)?.save(values));
  }

  /** Return every setting of the schema to its default. */
  resetSettings(id: string): Promise<Saving> {
    return this.#saving(id, this.#settings(id)?.reset());
  }

  /** Read the settings of what runs again: another page may have changed them. */
  refresh(): void {
    for (const { instance } of this.lifecycle.all) {
      void instance?.settings.refresh();
    }
  }

  /**
   * The daemon listed what is installed: remove what is kept of plugins that are not, and
   * start what still waits for an answer of it.
   */
  async installed(plugins: readonly Installed[]): Promise<void> {
    const { daemon, log, state } = this.#parts;
    const gone = this.lifecycle.installed(new Set(plugins.map(({ id }) => id)));
    const uninstalled = gone.filter((id) => !this.#linked.has(id));
    this.#linked = new Set(plugins.filter(({ dev }) => dev).map(({ id }) => id));
    try {
      for (const id of uninstalled) {
        await forgetSettings(daemon, id);
      }
      await this.#grants.compare(plugins);
      await state.compare(plugins);
    } catch (e) {
      log.add("warn", HOST_SCOPE, `plugins not forgotten: ${describe(e)}`);
    }
    this.changed.emit();
  }

  /** Start the plugins that are on. */
  leaveSafeMode(): void {
    this.#isSafe = false;
    this.#parts.leftSafeMode();
    this.lifecycle.release();
    void this.#parts.state.refresh();
    this.changed.emit();
  }

  /** The page is being left: end every plugin. */
  close(): void {
    this.lifecycle.close();
  }

  #settings(id: string): PageSettings | undefined {
    return this.lifecycle.find(id)?.instance?.settings;
  }

  #readSettings(id: string, failed?: (e: unknown) => void): Promise<Values> {
    const { daemon, persist, state } = this.#parts;
    const read = async (): Promise<Values> => {
      // Its switch may have moved while there was no connection.
      await state.ready();
      return this.#inTurn(() => readSettings(daemon, id));
    };
    return persist(`settings of ${id}`, read, failed);
  }

  #makeInstance(manifest: Manifest, script: Script, values: Values): Instance {
    const { id } = manifest;
    const { asker, daemon, environment, isVisible, log, place, realms } = this.#parts;
    const caller = this.#turns.of();
    const read = (): Promise<Values> => this.#readSettings(id);
    const settings = new PageSettings(daemon, caller, id, values, read);
    const logger = log.scope(id);
    return new Instance({
      manifest,
      script,
      realms,
      settings,
      caller,
      gate: new Gate(manifest, this.#grants, asker),
      hub: this.#hub,
      place: place(manifest, logger),
      logger,
      environment,
      painting: this.#painting,
      isVisible,
    });
  }

  async #saving(id: string, saving: Promise<Saving> | undefined): Promise<Saving> {
    const result = (await saving) ?? { outcome: "not-saved", labels: [id], reason: "" };
    this.#parts.state.saved.emit();
    return result;
  }

  #stateOf({ manifest, stage, error, instance }: Compiled): PluginState {
    const { id, name, version } = manifest;
    const enabled = this.#parts.state.isOn(id);
    const silent = instance?.isSilent === true;
    return { id, name, version, stage, error, enabled, silent };
  }
}
