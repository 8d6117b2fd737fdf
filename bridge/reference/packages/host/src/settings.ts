import { BridgeError, type Json, type Settings } from "@bridge/plugin-api";

import type { Schema } from "../../api/src/schemarules.js";
import { bytesOf, checkSet, valueOf } from "../../api/src/settingrules.js";
import { Signal } from "./signal.js";

// The daemon has twice as much for each plugin, which other pages may have filled.
const MOST_BYTES = 1_048_576;

/** Values by key. */
export type Values = { readonly [key: string]: Json };

/** Makes a value durable. */
export type Write = (key: string, value: Json) => Promise<unknown>;

/** What waits for a value to be stored. */
interface Waiting {
  readonly stored: Promise<void>;
  readonly end: (error?: unknown) => void;
}

/** A plugin's own values, on the page or in its realm. */
export class StoredSettings implements Settings {
  readonly #store: Write;
  readonly #values = new Map<string, Json>();
  readonly #bytes = new Map<string, number>();
  /** What is stored, as far as it is known here. */
  #stored = new Map<string, Json>();
  readonly #unwritten = new Map<string, Waiting>();
  #written: string | undefined;
  #writing = Promise.resolve();
  readonly #changed = new Signal();
  #schema: Schema = [];

  /**
   * @param store Called for what the plugin sets.
   * @param values What is stored.
   */
  constructor(store: Write, values: Values) {
    this.#store = store;
    this.#take(values);
  }

  /** Every value that is stored, by key. */
  get all(): Values {
    return Object.fromEntries(this.#values);
  }

  get schema(): Schema {
    return this.#schema;
  }

  /** Hold the values to a schema from now on. */
  declare(schema: Schema): void {
    this.#schema = schema;
  }

  get(key: string): Json | undefined;
  get(key: string, fallback: boolean): boolean;
  get(key: string, fallback: number): number;
  get(key: string, fallback: string): string;
  get(key: string, fallback?: Json): Json | undefined {
    const field = this.#field(key);
    const stored = this.#values.get(key);
    const value = field === undefined ? stored : valueOf(field, stored);
    const usable = fallback === undefined || typeof value === typeof fallback;
    return usable ? value : fallback;
  }

  async set(key: string, value: Json): Promise<void> {
    checkSet(this.#field(key), key, value);
    if (this.#bytesWith(key, value) > MOST_BYTES) {
      throw new BridgeError("too_large", `settings: over ${MOST_BYTES} bytes of JSON`);
    }
    this.#hold(key, value);
    const waiting = this.#unwritten.get(key) ?? waitingOne();
    this.#unwritten.set(key, waiting);
    if (this.#written === undefined) {
      this.#writing = this.#write();
    }
    return waiting.stored;
  }

  /** Wait until what was set is stored, or refused. */
  written(): Promise<void> {
    return this.#writing;
  }

  onChange(listener: () => void): () => void {
    return this.#changed.listen(listener);
  }

  /** Take other values over, as the user saved them; what is being written stays. */
  replace(values: Values): void {
    const written = [...this.#unwritten.keys(), this.#written];
    const kept = [...this.#values].filter(([key]) => written.includes(key));
    this.#values.clear();
    this.#bytes.clear();
    this.#take(values);
    for (const [key, value] of kept) {
      this.#hold(key, value);
    }
    this.#changed.emit();
  }

  #take(values: Values): void {
    this.#stored = new Map();
    for (const [key, value] of Object.entries(values)) {
      this.keep(key, value);
    }
  }

  /** Have a value that is stored, or none. */
  protected keep(key: string, value: Json | undefined): void {
    if (value === undefined) {
      this.#stored.delete(key);
    } else {
      this.#stored.set(key, value);
    }
    this.#hold(key, value);
  }

  #hold(key: string, value: Json | undefined): void {
    if (value === undefined) {
      this.#values.delete(key);
      this.#bytes.delete(key);
    } else {
      this.#values.set(key, value);
      this.#bytes.set(key, bytesOf([key, value]));
    }
  }

  #bytesWith(key: string, value: Json): number {
    const others = [...this.#bytes].filter(([other]) => other !== key);
    return others.reduce((sum, [, bytes]) => sum + bytes, bytesOf([key, value]));
  }

  #field(key: string): Schema[number] | undefined {
    return this.#schema.find((field) => field.key === key);
  }

  async #write(): Promise<void> {
    let isTakenBack = false;
    for (const [key, waiting] of this.#unwritten) {
      // A key set again while it is being written comes round once more.
      this.#unwritten.delete(key);
      this.#written = key;
      const value = this.#values.get(key) as Json;
      try {
        await this.#store(key, value);
        this.#stored.set(key, value);
        waiting.end();
      } catch (e) {
        if (!this.#unwritten.has(key)) {
          this.#hold(key, this.#stored.get(key));
          isTakenBack = true;
        }
        waiting.end(e);
      }
    }
    this.#written = undefined;
    // Last: a listener that fails must keep nothing from being stored.
    if (isTakenBack) {
      this.#changed.emit();
    }
  }
}

function waitingOne(): Waiting {
  let end: Waiting["end"] = () => undefined;
  const stored = new Promise<void>((resolve, reject) => {
    end = (error) => (error === undefined ? resolve() : reject(error));
  });
  return { stored, end };
}
