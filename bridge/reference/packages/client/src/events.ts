/** Listeners by the name of what they listen to. */

import type { Cancel } from "./clock.js";

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

export class Listeners {
  readonly #named = new Map<string, Set<Listener>>();

  /** Add a listener; one that is there already is not called twice. */
  add(name: string, listener: Listener): Cancel {
    const named = this.#named.get(name) ?? new Set();
    this.#named.set(name, named.add(listener));
    return () => named.delete(listener);
  }

  /** Call the listeners of a name in the order they were added. */
  emit(name: string, ...values: readonly unknown[]): void {
    for (const listener of [...(this.#named.get(name) ?? [])]) {
      notify(listener as (...all: readonly unknown[]) => void, ...values);
    }
  }
}
