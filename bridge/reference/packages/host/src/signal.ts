/** Something that happens; whoever listens is told in the order they began to. */
export class Signal<Value = void> {
  readonly #listeners: ((value: Value) => void)[] = [];

  listen(listener: (value: Value) => void): void {
    this.#listeners.push(listener);
  }

  emit(value: Value): void {
    for (const listener of this.#listeners) {
      listener(value);
    }
  }
}
