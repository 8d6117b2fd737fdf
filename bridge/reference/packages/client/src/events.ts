/** Listeners by the name of what they listen to. */

import type { Cancel } from "./clock.js";

// Listeners that cause each other's events have no end by themselves.
const MOST_CALLS = 1_000;

type Listener = (...values: readonly never[]) => void;

/**
 * Call `listener`; what it throws is reported as an uncaught error.
 *
 * A listener that fails must not keep the client, or the next one, from going on.
 */
export function notify<Values extends readonly unknown[]>(
  listener: (...values: Values) => void,
  ...values: Values
): void {
  try {
    listener(...values);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** A listener that was added, once for each time. */
interface Added {
  readonly name: string;
  readonly listener: Listener;
}

export class Listeners {
  readonly #added = new Set<Added>();
  /** The calls of what is emitted, in the order it was; none while nothing is. */
  readonly #calls: { readonly added: Added; readonly values: readonly unknown[] }[] = [];

  /** Add a listener; what is returned removes this one, and no other with its function. */
  add(name: string, listener: Listener): Cancel {
    const added = { name, listener };
    this.#added.add(added);
    return () => this.#added.delete(added);
  }

  /**
   * Call the listeners of a name in the order they were added.
   *
   * What a listener causes to be emitted comes after what it was called for, so that the
   * last value is the newest for each.
   *
   * @throws RangeError That goes on without end.
   */
  emit(name: string, ...values: readonly unknown[]): void {
    const isUnderWay = this.#calls.length > 0;
    if (this.#calls.length > MOST_CALLS) {
      throw new RangeError("events without end");
    }
    for (const added of this.#added) {
      if (added.name === name) {
        this.#calls.push({ added, values });
      }
    }
    if (isUnderWay) {
      return;
    }
    // It goes on with what is added meanwhile.
    for (const { added, values: all } of this.#calls) {
      if (this.#added.has(added)) {
        notify(added.listener as (...each: readonly unknown[]) => void, ...all);
      }
    }
    this.#calls.length = 0;
  }
}
