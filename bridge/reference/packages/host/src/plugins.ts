import { concurrencyLimiter } from "./concurrency.js";
import type { Environment } from "./environment.js";
import type { Instance } from "./instance.js";
import { HOST_SCOPE, type Log, describe } from "./log.js";
import { type Manifest, readManifest } from "./manifest.js";
import type { Realms } from "./realm/realms.js";
import { Script } from "./realm/script.js";
import type { Values } from "./settings.js";
import { Signal } from "./signal.js";
import { Suspects } from "./suspects.js";
import { text } from "./wire.js";

const STARTED_AT_ONCE = 4;
const AGAIN_MILLISECONDS = 60_000;
const TRIED_MILLISECONDS = 10_000;

/**
 * The state of a compiled plugin.
 *
 * - `waiting`: for the daemon, or for the plugin's settings.
 * - `failed`: it did not start.
 * - `stopped`: it ran, and the page ended it.
 * - `off`: switched off; it does not run.
 * - `removed`: uninstalled, and maybe installed again since the page was loaded.
 * - `suspended`: it does not run because the page is in safe mode.
 * - `paused`: it does not run while it is found out which plugin ends all of them.
 */
export type Stage =
  | "waiting"
  | "starting"
  | "running"
  | "failed"
  | "stopped"
  | "off"
  | "removed"
  | "suspended"
  | "paused";

/** A plugin of this bundle. */
export interface Compiled {
  readonly manifest: Manifest;
  readonly script: Script;
  stage: Stage;
  /** Why it failed, was stopped, or waits; empty otherwise. */
  error: string;
  /** Whether it failed only because of what it depends on. */
  lacks: boolean;
  /** What it is from its start to its end. */
  instance: Instance | undefined;
  /** Counts its starts and ends; what an earlier one finds is of no interest. */
  run: number;
  /** Its last end. */
  stopped: Promise<void>;
}

/** An entry of the table; see `static-plugins.d.ts`. */
export interface Entry {
  readonly manifest: unknown;
  readonly text?: unknown;
  readonly map?: unknown;
}

/** What starting and stopping plugins needs. */
export interface PluginParts {
  /** The script that runs before a plugin's text in its realm. */
  readonly realmRuntime: string;
  readonly realms: Pick<Realms, "lost" | "rebuild">;
  /** Read the settings of a plugin until the daemon answers; `failed` is called meanwhile. */
  readonly readSettings: (id: string, failed: (e: unknown) => void) => Promise<Values>;
  readonly makeInstance: (manifest: Manifest, script: Script, settings: Values) => Instance;
  /** Whether the plugin may run. */
  readonly isOn: (id: string) => boolean;
  readonly environment: Pick<Environment, "later" | "now">;
  readonly log: Log;
}

/** The plugins compiled into this bundle. */
export class Plugins {
  readonly changed = new Signal();
  readonly #parts: PluginParts;
  readonly #compiled = new Map<string, Compiled>();
  // More at once make each start take longer than all would one after the other.
  readonly #fewAtOnce = concurrencyLimiter(STARTED_AT_ONCE);
  #installed: ReadonlySet<string> = new Set();
  readonly #suspects = new Suspects();
  #lostAt = -Infinity;
  #tried = TRIED_MILLISECONDS;
  #cancel = (): void => undefined;

  /** @param safe Whether the page is in safe mode. */
  constructor(table: readonly Entry[], parts: PluginParts, safe: boolean) {
    this.#parts = parts;
    for (const entry of table) {
      this.#add(entry, safe ? "suspended" : "waiting");
    }
    parts.realms.lost.listen(() => this.#restartAll());
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
  start(): void {
    const { areTried } = this.#suspects;
    for (const compiled of this.all) {
      if (compiled.stage === "waiting" || (compiled.lacks && !areTried)) {
        void this.#begin(compiled);
      }
    }
  }

  /** Start and stop what was switched meanwhile, as in another page. */
  follow(): void {
    for (const compiled of this.all) {
      const { id } = compiled.manifest;
      const isOff = compiled.stage === "off";
      if (isOff && this.#parts.isOn(id)) {
        this.#become(compiled, "waiting");
      } else if (!isOff && !this.#parts.isOn(id)) {
        void this.switchOff(id);
      }
    }
    this.start();
  }

  /** Safe mode is over: what it suspended waits to be started. */
  release(): void {
    for (const compiled of this.all.filter(({ stage }) => stage === "suspended")) {
      this.#become(compiled, "waiting");
    }
  }

  /** Start a plugin that was switched on, and what has missed it; wait for itself alone. */
  async switchOn(id: string): Promise<void> {
    const compiled = this.#compiled.get(id);
    if (compiled !== undefined && compiled.instance === undefined && isHere(compiled)) {
      this.#become(compiled, "waiting");
      this.start();
      await this.#settled(id);
    }
    this.changed.emit();
  }

  /** Stop a plugin that was switched off; nothing of it is left after this. */
  async switchOff(id: string): Promise<void> {
    const compiled = this.#compiled.get(id);
    if (compiled !== undefined && isHere(compiled)) {
      const run = ++compiled.run;
      const { instance } = compiled;
      compiled.instance = undefined;
      // Else it stops already, or does not run.
      compiled.stopped = instance?.stop() ?? compiled.stopped;
      await compiled.stopped;
      if (compiled.run === run) {
        // It is off, unless another page has switched it on meanwhile.
        void this.#begin(compiled);
      }
    }
    this.changed.emit();
  }

  /**
   * The daemon listed what is installed: what is not, and is still in the bundle, ends.
   *
   * @returns The ids of what was in an earlier list. Others may have been linked.
   */
  installed(ids: ReadonlySet<string>): readonly string[] {
    const lacks = ({ manifest: { id } }: Compiled): boolean => !ids.has(id);
    for (const compiled of this.all.filter(lacks)) {
      this.#closeOne(compiled);
      this.#become(compiled, "removed");
    }
    const gone = [...this.#installed].filter((id) => this.#compiled.has(id) && !ids.has(id));
    this.#installed = ids;
    return gone;
  }

  /** Close whatever runs, at once: the page is being left. */
  close(): void {
    for (const compiled of this.all) {
      this.#closeOne(compiled);
    }
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
    const { id } = manifest;
    const { environment, realmRuntime } = this.#parts;
    this.#compiled.set(id, {
      manifest,
      script: new Script(realmRuntime, id, text(entry.text), entry.map, environment.now),
      stage,
      error: "",
      lacks: false,
      instance: undefined,
      run: 0,
      stopped: Promise.resolve(),
    });
  }

  async #begin(compiled: Compiled): Promise<void> {
    compiled.run += 1;
    const { manifest, script, run } = compiled;
    if (!this.#parts.isOn(manifest.id)) {
      this.#become(compiled, "off");
      return;
    }
    this.#become(compiled, "starting");
    await compiled.stopped;
    // While plugins are tried, those that they depend on may have to wait.
    const missing = this.#suspects.areTried ? "" : await this.#missing(manifest);
    if (compiled.run !== run) {
      return;
    }
    if (missing !== "") {
      this.#failed(compiled, undefined, missing);
      compiled.lacks = true;
      return;
    }
    const settings = await this.#parts.readSettings(manifest.id, (e) => {
      if (compiled.run === run) {
        this.#become(compiled, "waiting", describe(e));
      }
    });
    if (compiled.run !== run) {
      return;
    }
    this.#become(compiled, "starting");
    await this.#run(compiled, this.#parts.makeInstance(manifest, script, settings));
  }

  async #run(compiled: Compiled, instance: Instance): Promise<void> {
    compiled.instance = instance;
    instance.changed.listen(() => this.changed.emit());
    instance.ended.listen((why) => this.#failed(compiled, instance, why));
    try {
      await this.#fewAtOnce(() => instance.load());
      this.changed.emit();
      await instance.activate();
      if (compiled.instance === instance) {
        this.#become(compiled, "running");
      }
    } catch (e) {
      this.#failed(compiled, instance, (e as Error).message);
    }
  }

  /** @param instance What failed; `undefined` before there is one. */
  #failed(compiled: Compiled, instance: Instance | undefined, why: string): void {
    if (compiled.instance === instance) {
      const hasRun = compiled.stage === "running";
      const what = hasRun ? "was stopped" : "failed to start";
      this.#parts.log.add("error", compiled.manifest.id, `${what}: ${why}`);
      this.#closeOne(compiled);
      this.#become(compiled, hasRun ? "stopped" : "failed", why);
    }
  }

  /** What a plugin depends on and lacks, in words; empty when it lacks nothing. */
  async #missing({ id, dependencies }: Manifest): Promise<string> {
    for (const other of dependencies) {
      if (this.#needs(other, id, new Set())) {
        return `it and ${other} depend on each other`;
      }
      if ((await this.#settled(other)) !== "running") {
        return `it depends on ${other}, which does not run`;
      }
    }
    return "";
  }

  /** Wait while a plugin is about to run; returns its stage then, however often it began. */
  async #settled(id: string): Promise<Stage | undefined> {
    for (;;) {
      const stage = this.#compiled.get(id)?.stage;
      if (stage !== "waiting" && stage !== "starting") {
        return stage;
      }
      await this.changed.next();
    }
  }

  #needs(id: string, wanted: string, seen: Set<string>): boolean {
    if (id === wanted || seen.has(id)) {
      return id === wanted;
    }
    seen.add(id);
    const dependencies = this.#compiled.get(id)?.manifest.dependencies ?? [];
    return dependencies.some((other) => this.#needs(other, wanted, seen));
  }

  /** All realms have ended at once: one has filled the memory that they share. */
  #restartAll(): void {
    const { environment, log, realms } = this.#parts;
    const lived = environment.now() - this.#lostAt;
    this.#lostAt = environment.now();
    const ran = this.all.filter(({ stage }) => stage === "running" || stage === "starting");
    for (const compiled of ran) {
      this.#closeOne(compiled);
      this.#become(compiled, "waiting");
    }
    realms.rebuild();
    log.add("warn", HOST_SCOPE, "all plugins stopped at once, and are started again");
    const isAgain = lived < AGAIN_MILLISECONDS;
    if (isAgain && !this.#suspects.areTried) {
      this.#tried = Math.max(TRIED_MILLISECONDS, 2 * lived);
    }
    if (isAgain || this.#suspects.areTried || ran.length === 1) {
      this.#name(this.#suspects.ended(ran.map(({ manifest }) => manifest.id)));
    }
    this.#try();
  }

  /** Stop a plugin that was found to end all others. */
  #name(id: string): void {
    const compiled = this.#compiled.get(id);
    if (compiled !== undefined) {
      const why = "the process of all plugins ended twice while nothing but it ran there";
      this.#parts.log.add("error", id, `was stopped: ${why}`);
      this.#become(compiled, "stopped", why);
    }
  }

  /** Start what may run now, and let the others wait until that has run for a while. */
  #try(): void {
    this.#cancel();
    for (const compiled of this.all) {
      const { stage, manifest } = compiled;
      const waits = this.#suspects.waits(manifest.id);
      if (stage === "paused" && !waits) {
        this.#become(compiled, "waiting");
      } else if (["waiting", "starting", "running"].includes(stage) && waits) {
        this.#closeOne(compiled);
        this.#become(compiled, "paused");
      }
    }
    if (this.#suspects.areTried) {
      this.#cancel = this.#parts.environment.later(this.#tried, () => {
        this.#suspects.survived();
        this.#try();
      });
    }
    this.start();
  }

  #closeOne(compiled: Compiled): void {
    compiled.run += 1;
    compiled.instance?.close();
    compiled.instance = undefined;
  }

  #become(compiled: Compiled, stage: Stage, error = ""): void {
    compiled.stage = stage;
    compiled.error = error;
    compiled.lacks = false;
    this.changed.emit();
  }
}

/** Whether its switch starts and stops it. */
function isHere({ stage }: Compiled): boolean {
  return stage !== "suspended" && stage !== "removed";
}
