import type { Logger, Ui } from "@bridge/plugin-api";

import { makeUi } from "../../api/src/handles.js";
import type { CardScreen, Screen } from "../../api/src/screen.js";
import { MOST_CELLS } from "../../api/src/uirules.js";
import {
  buttonOn,
  imageOn,
  inputOn,
  made,
  numberOn,
  progressOn,
  tableOn,
  textOn,
} from "./cardparts.js";
import { describe } from "./log.js";
import type { Manifest } from "./manifest.js";
import { ORDER, alone } from "./names.js";
import { Signal } from "./signal.js";

/**
 * The places of the plugins' cards, by the plugins' names.
 *
 * What is on a card changes without the page's views, so these are elements.
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
    room.dataset["name"] = manifest.name;
    const rooms = [...this.element.children] as HTMLElement[];
    const next = rooms.find(
      ({ dataset }) => ORDER.compare(dataset["name"] ?? "", manifest.name) > 0,
    );
    this.element.insertBefore(room, next ?? null);
    const screen: Screen = {
      card: (title) => {
        const { element, screen: added } = cardOf(manifest, title, () => {
          element.remove();
          this.changed.emit();
        });
        room.append(element);
        this.changed.emit();
        return added;
      },
      failed: (what, error) => logger.error(`${what} failed: ${describe(error)}`),
    };
    return {
      // The realm holds a plugin to half of them.
      ui: makeUi(screen, 2 * MOST_CELLS),
      remove: () => {
        room.remove();
        this.changed.emit();
      },
    };
  }
}

function cardOf(
  { id, name }: Manifest,
  title: string,
  remove: () => void,
): { readonly element: HTMLElement; readonly screen: CardScreen } {
  const element = made("section", "panel plugin-card");
  element.dataset["testid"] = `plugin-card-${id}`;
  element.setAttribute("aria-label", title);
  const header = made("header");
  header.append(made("h3", "", title), made("span", "dim small", alone(name)));
  const body = made("div", "body");
  element.append(header, body);
  const screen: CardScreen = {
    text: (state) => textOn(body, state),
    button: (state, pressed) => buttonOn(body, state, pressed),
    input: (state, changed) => inputOn(body, state, changed),
    number: (state, changed) => numberOn(body, state, changed),
    table: (state) => tableOn(body, state),
    progress: (state) => progressOn(body, state),
    image: (state) => imageOn(body, state),
    remove,
  };
  return { element, screen };
}
