/** As much of a document as the parts of cards use. */

/** The smallest image there is: one pixel. */
export const GIF_URL = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==";

export class FakeElement {
  readonly tag: string;
  readonly dataset: { [name: string]: string } = {};
  readonly attributes = new Map<string, string>();
  readonly validity = { badInput: false };
  readonly listeners = new Map<string, (event: object) => void>();
  children: FakeElement[] = [];
  parent: FakeElement | undefined;
  textContent = "";
  hidden = false;
  src = "";
  alt = "";
  value: string | number = "";
  valueAsNumber = Number.NaN;
  readOnly = false;

  constructor(tag: string) {
    this.tag = tag;
  }

  append(...added: FakeElement[]): void {
    for (const element of added) {
      element.parent = this;
      this.children.push(element);
    }
  }

  insertBefore(added: FakeElement, next: FakeElement | null): void {
    added.parent = this;
    const place = next === null ? this.children.length : this.children.indexOf(next);
    this.children.splice(place, 0, added);
  }

  replaceChildren(...added: FakeElement[]): void {
    this.children = [];
    this.append(...added);
  }

  remove(): void {
    const siblings = this.parent?.children ?? [];
    siblings.splice(siblings.indexOf(this), 1);
    this.parent = undefined;
  }

  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
  }

  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }

  addEventListener(event: string, listener: (event: object) => void): void {
    this.listeners.set(event, listener);
  }

  /** Let an event arrive, with this element in it. */
  fire(event: string): void {
    this.listeners.get(event)?.({ target: this });
  }

  /** Everything below it with this tag. */
  all(tag: string): FakeElement[] {
    return this.children.flatMap((child) => [
      ...(child.tag === tag ? [child] : []),
      ...child.all(tag),
    ]);
  }

  set innerHTML(_: string) {
    throw new Error("HTML was set");
  }
}

/** Run something where there is a document. */
export async function withDocument(
  work: () => void | Promise<void>,
  createElement = (tag: string) => new FakeElement(tag),
): Promise<void> {
  const scope = globalThis as { document?: unknown };
  scope.document = { createElement, body: new FakeElement("body") };
  try {
    await work();
  } finally {
    delete scope.document;
  }
}
