/** An event; listeners are called in the order they were added. */
export class Signal<Value = void> {
  readonly #listeners = new Set<(value: Value) => void>();

  /** @returns A function that ends this. */
  listen(listener: (value: Value) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(value: Value): void {
    for (const listener of [...this.#listeners]) {
      listener(value);
    }
  }
}
