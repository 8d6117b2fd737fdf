/** The element of a card where there may be no document, for `testing.ts`. */

/** Make an element: a real one where there is a document, such as jsdom's. */
export function madeElement(): HTMLElement {
  if (typeof document !== "undefined") {
    return document.createElement("div");
  }
  return new PlainElement() as unknown as HTMLElement;
}

/** As much of an element as plugins mostly use, where there is no document. */
class PlainElement extends EventTarget {
  readonly children: PlainElement[] = [];
  readonly dataset: { [name: string]: string } = {};
  className = "";
  disabled = false;
  hidden = false;
  title = "";
  #parent: PlainElement | undefined;
  #words = "";

  get textContent(): string {
    return this.#words + this.children.map((child) => child.textContent).join("");
  }

  set textContent(words: string) {
    this.replaceChildren();
    this.#words = words;
  }

  append(...nodes: (PlainElement | string)[]): void {
    for (const node of nodes) {
      const child = typeof node === "string" ? text(node) : node;
      child.remove();
      child.#parent = this;
      this.children.push(child);
    }
  }

  replaceChildren(...nodes: (PlainElement | string)[]): void {
    for (const child of [...this.children]) {
      child.remove();
    }
    this.#words = "";
    this.append(...nodes);
  }

  remove(): void {
    const siblings = this.#parent?.children;
    siblings?.splice(siblings.indexOf(this), 1);
    this.#parent = undefined;
  }

  click(): void {
    if (!this.disabled) {
      this.dispatchEvent(new Event("click"));
    }
  }
}

function text(words: string): PlainElement {
  const node = new PlainElement();
  node.textContent = words;
  return node;
}
