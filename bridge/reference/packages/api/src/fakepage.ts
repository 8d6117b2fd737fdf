/** The cards of a page that is not there, for `testing.ts`. */

import type { Logger } from "./context.js";
import type { FakeCard } from "./testing.js";
import type { Card, Ui } from "./ui.js";

/** Cards without a page. */
export class FakeUi implements Ui {
  readonly cards: FakeCard[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  card(title: string): Card {
    const card = new RecordedCard(title, this.#logger);
    this.cards.push(card);
    return card.forPlugin;
  }

  /** Remove every card, as the page does when a plugin is switched off. */
  clear(): void {
    this.cards.length = 0;
  }
}

class RecordedCard implements FakeCard {
  readonly title: string;
  readonly forPlugin: Card;
  readonly #body: HTMLElement;
  readonly #presses = new Map<HTMLButtonElement, () => Promise<void>>();

  constructor(title: string, logger: Logger) {
    this.title = title;
    const body = made("div");
    this.#body = body;
    this.forPlugin = {
      body,
      text(words) {
        const paragraph = made("p");
        paragraph.textContent = words;
        body.append(paragraph);
        return paragraph;
      },
      button: (label, pressed) => {
        const press = async (): Promise<void> => {
          try {
            await pressed();
          } catch (e) {
            logger.error(`the button “${label}” failed: ${describe(e)}`);
          }
        };
        const button = made("button");
        button.textContent = label;
        button.addEventListener("click", () => void press());
        this.#presses.set(button, press);
        body.append(button);
        return button;
      },
    };
  }

  get text(): string {
    const lines = Array.from(this.#body.children, (child) => child.textContent ?? "");
    return lines.length > 0 ? lines.join("\n") : (this.#body.textContent ?? "");
  }

  get buttons(): readonly string[] {
    return this.#shown().map(([button]) => button.textContent ?? "");
  }

  press(label: string): Promise<void> {
    const found = this.#shown().find(([button]) => button.textContent === label);
    if (found === undefined || found[0].disabled) {
      throw new Error(`there is no enabled button “${label}” on the card “${this.title}”`);
    }
    return found[1]();
  }

  #shown(): [HTMLButtonElement, () => Promise<void>][] {
    const children = new Set<Element>(this.#body.children);
    return [...this.#presses].filter(([button]) => children.has(button));
  }
}

/** Describe an error as the page's log does. */
export function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** Make an element: a real one where there is a document, such as jsdom's. */
function made<Tag extends "button" | "div" | "p">(tag: Tag): HTMLElementTagNameMap[Tag] {
  if (typeof document !== "undefined") {
    return document.createElement(tag);
  }
  return new PlainElement() as unknown as HTMLElementTagNameMap[Tag];
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
