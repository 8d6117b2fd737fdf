/** An event; listeners are called in the order they were added. */
export class Signal<Value = void> {
  #listeners: readonly ((value: Value) => void)[] = [];

  /** Add a listener; the result removes it. */
  listen(listener: (value: Value) => void): () => void {
    // Of its own, so that one function can be added twice.
    const added = (value: Value): void => listener(value);
    this.#listeners = [...this.#listeners, added];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== added);
    };
  }

  /** Wait for the next one. */
  next(): Promise<Value> {
    return new Promise((resolve) => {
      const forget = this.listen((value) => {
        forget();
        resolve(value);
      });
    });
  }

  emit(value: Value): void {
    for (const listener of this.#listeners) {
      listener(value);
    }
  }
}
