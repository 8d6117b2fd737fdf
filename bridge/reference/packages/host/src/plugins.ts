import type { Context, Plugin } from "@bridge/plugin-api";

import { describe, type Log } from "./log.js";
import { type Manifest, readManifest } from "./manifest.js";
import { Signal } from "./signal.js";
import { fields } from "./wire.js";

/** The state of a compiled plugin. */
export type Stage = "waiting" | "starting" | "running" | "failed";

/** A plugin of this bundle. */
export interface Compiled {
  readonly manifest: Manifest;
  readonly plugin: Plugin;
  stage: Stage;
  /** Why it failed, or why it still waits; empty otherwise. */
  error: string;
}

type Entry = { readonly manifest: unknown; readonly plugin: unknown };

/** Makes the context of a plugin; may have to read its settings first. */
export type MakeContext = (manifest: Manifest) => Promise<Context>;

/** The plugins compiled into this bundle, each started once. */
export class Plugins {
  readonly changed = new Signal();
  readonly #makeContext: MakeContext;
  readonly #log: Log;
  readonly #compiled = new Map<string, Compiled>();

  constructor(table: readonly Entry[], makeContext: MakeContext, log: Log) {
    this.#makeContext = makeContext;
    this.#log = log;
    for (const entry of table) {
      this.#add(entry);
    }
  }

  get all(): readonly Compiled[] {
    return [...this.#compiled.values()];
  }

  find(id: string): Compiled | undefined {
    return this.#compiled.get(id);
  }

  /** Start every plugin that waits; none can keep another from starting. */
  async start(): Promise<void> {
    const waiting = this.all.filter(({ stage }) => stage === "waiting");
    await Promise.all(waiting.map((compiled) => this.#start(compiled)));
  }

  #add(entry: Entry): void {
    const manifest = readManifest(entry.manifest);
    if (manifest === undefined || this.#compiled.has(manifest.id)) {
      this.#log.add("error", "host", "a plugin without a usable id of its own is left out");
      return;
    }
    const { id, activate } = fields(entry.plugin);
    const usable = id === manifest.id && typeof activate === "function";
    this.#compiled.set(manifest.id, {
      manifest,
      plugin: entry.plugin as Plugin,
      stage: usable ? "waiting" : "failed",
      error: usable ? "" : "main.ts does not export a plugin with the manifest's id",
    });
  }

  async #start(compiled: Compiled): Promise<void> {
    this.#become(compiled, "starting");
    let context: Context;
    try {
      context = await this.#makeContext(compiled.manifest);
    } catch (e) {
      // Not the plugin's fault: it gets another chance with the next connection.
      this.#become(compiled, "waiting", describe(e));
      return;
    }
    try {
      await compiled.plugin.activate(context);
      this.#become(compiled, "running");
    } catch (e) {
      this.#log.add("error", compiled.manifest.id, `failed to start: ${describe(e)}`);
      this.#become(compiled, "failed", describe(e));
    }
  }

  #become(compiled: Compiled, stage: Stage, error = ""): void {
    compiled.stage = stage;
    compiled.error = error;
    this.changed.emit();
  }
}
