import type { Card, Logger, Ui } from "@bridge/plugin-api";

import { describe } from "./log.js";
import type { Manifest } from "./manifest.js";
import { Signal } from "./signal.js";

/**
 * The places of the plugins' cards, in the order they start.
 *
 * Plugins fill the cards themselves, so these are elements and not views.
 */
export class PluginCards {
  readonly element = made("div", "cards");
  /** The first card came, or the last one went. */
  readonly changed = new Signal();

  constructor() {
    this.element.id = "plugin-cards";
  }

  /** Add the place for one plugin's cards. */
  place(manifest: Manifest, logger: Logger): { readonly ui: Ui; remove(): void } {
    const room = made("div", "room");
    room.dataset["testid"] = `plugin-cards-${manifest.id}`;
    this.element.append(room);
    return {
      ui: {
        card: (title) => {
          const card = new PluginCard(manifest, title, logger);
          room.append(card.element);
          this.changed.emit();
          return card;
        },
      },
      remove: () => {
        room.remove();
        this.changed.emit();
      },
    };
  }
}

class PluginCard implements Card {
  readonly element = made("section", "panel plugin-card");
  readonly body = made("div", "body");
  readonly #logger: Logger;

  constructor({ id, name }: Manifest, title: string, logger: Logger) {
    this.#logger = logger;
    this.element.dataset["testid"] = `plugin-card-${id}`;
    this.element.setAttribute("aria-label", title);
    const header = made("header");
    header.append(made("h3", "", title), made("span", "dim small", name));
    this.element.append(header, this.body);
  }

  text(words: string): HTMLParagraphElement {
    const paragraph = made("p", "", words);
    this.body.append(paragraph);
    return paragraph;
  }

  button(label: string, pressed: () => void | Promise<void>): HTMLButtonElement {
    const run = async (): Promise<void> => {
      try {
        await pressed();
      } catch (e) {
        this.#logger.error(`the button “${label}” failed: ${describe(e)}`);
      }
    };
    const button = made("button", "primary", label);
    button.type = "button";
    button.addEventListener("click", () => void run());
    this.body.append(button);
    return button;
  }
}

function made<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className = "",
  words = "",
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = words;
  return element;
}
