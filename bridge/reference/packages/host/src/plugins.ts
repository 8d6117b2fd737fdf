import type { Plugin } from "@bridge/plugin-api";

import { concurrencyLimiter } from "./concurrency.js";
import { HOST_SCOPE, type Log, describe } from "./log.js";
import { type Manifest, readManifest } from "./manifest.js";
import type { Instance } from "./instance.js";
import { type Schema, readSchema } from "./schema.js";
import { Signal } from "./signal.js";
import type { StartMarks } from "./startmarks.js";
import { fields } from "./wire.js";
import type { Later } from "./environment.js";

const LOAD_MILLISECONDS = 5_000;
const DEACTIVATE_MILLISECONDS = 5_000;

/**
 * The state of a compiled plugin.
 *
 * - `waiting`: for the daemon, or for the plugin's settings.
 * - `off`: switched off; it does not run.
 * - `held`: it does not run because the page is in safe mode.
 */
export type Stage = "waiting" | "starting" | "running" | "failed" | "off" | "held";

/** A plugin of this bundle. */
export interface Compiled {
  readonly manifest: Manifest;
  /** Evaluate `main.ts`; resolves to its default export. */
  readonly load: () => Promise<unknown>;
  stage: Stage;
  /** Why it failed, or why it still waits; empty otherwise. */
  error: string;
  /** What it declares as its settings; `undefined` before it is loaded. */
  schema: Schema | undefined;
  /** Its context, once its settings were read. */
  instance: Instance | undefined;
  plugin: Plugin | undefined;
  /** Whether it was evaluated and not deactivated: only a reload can start it again. */
  spent: boolean;
}

/** An entry of the table; see `static-plugins.d.ts`. */
export interface Entry {
  readonly manifest: unknown;
  readonly load?: () => Promise<{ readonly default?: unknown }>;
  readonly plugin?: unknown;
}

/** What starting and stopping plugins needs. */
export interface PluginParts {
  /** Make the context of a plugin; reads its settings first. */
  readonly makeInstance: (manifest: Manifest) => Promise<Instance>;
  /** Whether the plugin may run. */
  readonly isOn: (id: string) => boolean;
  readonly marks: Pick<StartMarks, "begin" | "activated" | "remove">;
  readonly later: Later;
  readonly log: Log;
}

/** The plugins compiled into this bundle. */
export class Plugins {
  readonly changed = new Signal();
  readonly #parts: PluginParts;
  readonly #compiled = new Map<string, Compiled>();
  readonly #starts = new Map<string, Promise<void>>();
  // So that a page that froze has one plugin that was being loaded.
  readonly #oneAtATime = concurrencyLimiter(1);

  /** @param held Whether the page is in safe mode. */
  constructor(table: readonly Entry[], parts: PluginParts, held: boolean) {
    this.#parts = parts;
    for (const entry of table) {
      this.#add(entry, held ? "held" : "waiting");
    }
  }

  get all(): readonly Compiled[] {
    return [...this.#compiled.values()];
  }

  find(id: string): Compiled | undefined {
    return this.#compiled.get(id);
  }

  /**
   * Start every plugin that waits and is on, after those it depends on.
   *
   * No other can keep a plugin from starting.
   */
  async start(): Promise<void> {
    await Promise.all(this.all.filter(canStart).map((compiled) => this.#begin(compiled)));
  }

  /** Safe mode is over: what it held waits to be started. */
  release(): void {
    for (const compiled of this.all) {
      if (compiled.stage === "held") {
        this.#become(compiled, "waiting");
      }
    }
  }

  /**
   * Start a plugin that was switched on.
   *
   * @returns Whether nothing is left to do; otherwise the page must be reloaded.
   */
  async switchOn(id: string): Promise<boolean> {
    const compiled = this.#compiled.get(id);
    if (compiled?.stage === "off" && !compiled.spent) {
      this.#become(compiled, "waiting");
      // And what has missed it.
      await this.start();
    }
    this.changed.emit();
    return compiled?.stage !== "off";
  }

  /**
   * Stop a plugin that was switched off.
   *
   * @returns Whether nothing of it is left; otherwise the page must be reloaded.
   */
  async switchOff(id: string): Promise<boolean> {
    const compiled = this.#compiled.get(id);
    if (compiled?.stage === "waiting" || (compiled?.stage === "failed" && !compiled.spent)) {
      this.#become(compiled, "off");
    } else if (compiled?.stage === "running") {
      await this.#deactivate(compiled);
      if (this.#parts.isOn(id)) {
        // Switched on in the meantime.
        return this.switchOn(id);
      }
    }
    this.changed.emit();
    return compiled === undefined || compiled.stage === "held" || isOver(compiled);
  }

  #add(entry: Entry, stage: Stage): void {
    const manifest = readManifest(entry.manifest);
    if (manifest === undefined || this.#compiled.has(manifest.id)) {
      this.#parts.log.add(
        "error",
        HOST_SCOPE,
        "a plugin without a usable id of its own is left out",
      );
      return;
    }
    const { load } = entry;
    this.#compiled.set(manifest.id, {
      manifest,
      load: async () => (load === undefined ? entry.plugin : (await load()).default),
      stage,
      error: "",
      schema: undefined,
      instance: undefined,
      plugin: undefined,
      spent: false,
    });
  }

  #begin(compiled: Compiled): Promise<void> {
    const start = this.#startIfOn(compiled);
    this.#starts.set(compiled.manifest.id, start);
    return start;
  }

  async #startIfOn(compiled: Compiled): Promise<void> {
    const { id } = compiled.manifest;
    if (!this.#parts.isOn(id)) {
      this.#become(compiled, "off");
      return;
    }
    this.#become(compiled, "starting");
    const missing = await this.#missing(compiled.manifest);
    if (missing !== "") {
      this.#become(compiled, "failed", missing);
      return;
    }
    try {
      compiled.instance = await this.#parts.makeInstance(compiled.manifest);
    } catch (e) {
      // Not the plugin's fault: it gets another chance with the next connection.
      this.#become(compiled, "waiting", describe(e));
      return;
    }
    if (!this.#parts.isOn(id)) {
      this.#become(compiled, "off");
      return;
    }
    try {
      await this.#activate(compiled, compiled.instance);
      this.#become(compiled, "running");
    } catch (e) {
      this.#parts.log.add("error", id, `failed to start: ${describe(e)}`);
      this.#become(compiled, "failed", describe(e));
    }
    if (!this.#parts.isOn(id)) {
      // Switched off in the meantime.
      await this.switchOff(id);
    }
  }

  /** What a plugin depends on and lacks, in words; empty when it lacks nothing. */
  async #missing({ id, dependencies }: Manifest): Promise<string> {
    // Those that start together have all begun after this.
    await Promise.resolve();
    for (const other of dependencies) {
      if (this.#needs(other, id, new Set())) {
        return `it and ${other} depend on each other`;
      }
      await this.#starts.get(other);
      if (this.#compiled.get(other)?.stage !== "running") {
        return `it depends on ${other}, which does not run`;
      }
    }
    return "";
  }

  #needs(id: string, wanted: string, seen: Set<string>): boolean {
    if (id === wanted || seen.has(id)) {
      return id === wanted;
    }
    seen.add(id);
    const dependencies = this.#compiled.get(id)?.manifest.dependencies ?? [];
    return dependencies.some((other) => this.#needs(other, wanted, seen));
  }

  async #activate(compiled: Compiled, instance: Instance): Promise<void> {
    const { id } = compiled.manifest;
    // A promise in an object, which the limiter does not wait for.
    const { ended } = await this.#oneAtATime(async () => {
      this.#parts.marks.begin(id);
      try {
        compiled.spent = true;
        // A module that exports `then` is a promise, and may be one that never ends.
        const loaded = (): Promise<unknown> =>
          this.#within(LOAD_MILLISECONDS, compiled.load(), "it did not load in time");
        compiled.plugin ??= usablePlugin(id, await loaded());
        compiled.schema = readSchema(compiled.plugin.settings);
        instance.settings.declare(compiled.schema);
        const activated = compiled.plugin.activate(instance.context);
        this.#parts.marks.activated(id);
        return { ended: Promise.resolve(activated) };
      } catch (e) {
        // It threw, so it did not break the page.
        this.#parts.marks.remove(id);
        throw e;
      }
    });
    await ended;
  }

  async #deactivate(compiled: Compiled): Promise<void> {
    const { plugin, instance, manifest } = compiled;
    if (typeof plugin?.deactivate !== "function") {
      return;
    }
    try {
      const ended = plugin.deactivate();
      await this.#within(DEACTIVATE_MILLISECONDS, ended, "it did not end in time");
      compiled.spent = false;
    } catch (e) {
      this.#parts.log.add("error", manifest.id, `failed to stop: ${describe(e)}`);
    }
    // What is left of it can do nothing with the daemon any more.
    instance?.close();
    compiled.instance = undefined;
    compiled.schema = undefined;
    this.#become(compiled, "off");
  }

  #within<T>(milliseconds: number, work: T | Promise<T>, otherwise: string): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.#parts.later(milliseconds, () => reject(new Error(otherwise)));
      // In a promise of the host's: a plugin's may have methods of its own.
      const own = (async () => work)();
      own.then(resolve, reject).finally(forget);
    });
  }

  #become(compiled: Compiled, stage: Stage, error = ""): void {
    compiled.stage = stage;
    compiled.error = error;
    this.changed.emit();
  }
}

// One that was not evaluated failed because of what it depends on.
function canStart({ stage, spent }: Compiled): boolean {
  return stage === "waiting" || (stage === "failed" && !spent);
}

function isOver({ stage, spent }: Compiled): boolean {
  return stage === "off" && !spent;
}

function usablePlugin(id: string, exported: unknown): Plugin {
  const { id: own, activate } = fields(exported);
  if (own !== id || typeof activate !== "function") {
    throw new Error("main.ts does not export a plugin with the manifest's id");
  }
  return exported as Plugin;
}
