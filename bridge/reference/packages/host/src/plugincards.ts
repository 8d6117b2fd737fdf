import type { Card, Logger, Ui } from "@bridge/plugin-api";

import { button, element } from "./dom.js";
import { describe } from "./log.js";
import type { Manifest } from "./manifest.js";

/** The places of the plugins' cards, in the order they start. */
export class PluginCards {
  readonly element = element("div", { id: "plugin-cards" });

  /** Add the place for one plugin's cards. */
  ui(manifest: Manifest, logger: Logger): Ui {
    const room = element("div", { class: "room", "data-testid": `plugin-cards-${manifest.id}` });
    this.element.append(room);
    return {
      card: (title) => {
        const card = new PluginCard(manifest, title, logger);
        room.append(card.element);
        return card;
      },
    };
  }
}

class PluginCard implements Card {
  readonly element: HTMLElement;
  readonly body = element("div", { class: "body" });
  readonly #logger: Logger;

  constructor({ id, name }: Manifest, title: string, logger: Logger) {
    this.#logger = logger;
    this.element = element(
      "section",
      { class: "panel plugin-card", "data-testid": `plugin-card-${id}`, "aria-label": title },
      element("header", {}, element("h2", {}, title), element("span", { class: "dim" }, name)),
      this.body,
    );
  }

  text(words: string): HTMLParagraphElement {
    const made = element("p", {}, words);
    this.body.append(made);
    return made;
  }

  button(label: string, pressed: () => void | Promise<void>): HTMLButtonElement {
    const run = async (): Promise<void> => {
      try {
        await pressed();
      } catch (e) {
        this.#logger.error(`the button “${label}” failed: ${describe(e)}`);
      }
    };
    const made = button(label, {}, () => void run());
    this.body.append(made);
    return made;
  }
}
