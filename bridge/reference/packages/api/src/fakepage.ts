/** The cards of a page that is not there, for `testing.ts`. */

import type { Logger } from "./context.js";
import { describe } from "./describe.js";
import type {
  ButtonState,
  CardScreen,
  Drawn,
  ImageState,
  InputState,
  NumberState,
  ProgressState,
  Screen,
  TableState,
  TextState,
} from "./screen.js";
import type { FakeCard } from "./testing.js";

/** Cards without a page. */
export class FakeScreen implements Screen {
  readonly cards: FakeCard[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  card(title: string): CardScreen {
    const card = new RecordedCard(title);
    this.cards.push(card);
    return screenOf(card, () => {
      this.cards.splice(this.cards.indexOf(card), 1);
    });
  }

  failed(what: string, error: unknown): void {
    this.#logger.error(`${what} failed: ${describe(error)}`);
  }

  /** Remove every card, as the page does when a plugin is switched off. */
  clear(): void {
    this.cards.length = 0;
  }
}

type Recorded =
  | { readonly kind: "text"; state: TextState }
  | { readonly kind: "button"; state: ButtonState; readonly act: () => Promise<void> }
  | {
      readonly kind: "input";
      state: InputState;
      readonly act: (value: string) => Promise<void>;
    }
  | {
      readonly kind: "number";
      state: NumberState;
      readonly act: (value: number | undefined) => Promise<void>;
    }
  | { readonly kind: "table"; state: TableState }
  | { readonly kind: "progress"; state: ProgressState }
  | { readonly kind: "image"; state: ImageState };

function screenOf(card: RecordedCard, remove: () => void): CardScreen {
  return {
    remove,
    text: (state) => card.add({ kind: "text", state }),
    button: (state, act) => card.add({ kind: "button", state, act }),
    input: (state, act) => card.add({ kind: "input", state, act }),
    number: (state, act) => card.add({ kind: "number", state, act }),
    table: (state) => card.add({ kind: "table", state }),
    progress: (state) => card.add({ kind: "progress", state }),
    image: (state) => card.add({ kind: "image", state }),
  };
}

class RecordedCard implements FakeCard {
  readonly title: string;
  readonly #parts = new Set<Recorded>();

  constructor(title: string) {
    this.title = title;
  }

  /** Add a part; its state is replaced when the plugin changes it. */
  add<Part extends Recorded>(part: Part): Drawn<Part["state"]> {
    this.#parts.add(part);
    return {
      draw: (state) => {
        part.state = state;
      },
      remove: () => void this.#parts.delete(part),
    };
  }

  get text(): string {
    return [...this.#parts].filter(isShown).flatMap(linesOf).join("\n");
  }

  get buttons(): readonly string[] {
    return this.#all("button").map(({ state }) => state.label);
  }

  get images(): readonly string[] {
    return this.#all("image").map(({ state }) => state.alt);
  }

  press(label: string): Promise<void> {
    const button = this.#all("button").find(({ state }) => state.label === label && state.enabled);
    return this.#there(button, "enabled button", label).act();
  }

  async write(label: string, value: string | number | undefined): Promise<void> {
    const field = this.#field(label);
    this.#there(field.state.enabled ? field : undefined, "enabled field", label);
    if (field.kind === "input") {
      await field.act(String(value ?? ""));
    } else {
      await field.act(value === undefined || value === "" ? undefined : Number(value));
    }
  }

  value(label: string): string | number | undefined {
    return this.#field(label).state.value;
  }

  rows(caption: string): readonly (readonly string[])[] {
    const table = this.#all("table").find(({ state }) => state.caption === caption);
    return this.#there(table, "table", caption).state.rows;
  }

  progress(label: string): number | undefined {
    const bar = this.#all("progress").find(({ state }) => state.label === label);
    return this.#there(bar, "progress bar", label).state.part;
  }

  #field(label: string) {
    const field = this.#all("input", "number").find(({ state }) => state.label === label);
    return this.#there(field, "field", label);
  }

  /** The parts of these kinds that are shown. */
  #all<Kind extends Recorded["kind"]>(...kinds: Kind[]) {
    type Found = Extract<Recorded, { readonly kind: Kind }>;
    const found = (one: Recorded): one is Found => (kinds as string[]).includes(one.kind);
    return [...this.#parts].filter(isShown).filter(found);
  }

  #there<Part>(part: Part | undefined, what: string, name: string): Part {
    if (part === undefined) {
      throw new Error(`there is no ${what} “${name}” on the card “${this.title}”`);
    }
    return part;
  }
}

function isShown({ state }: Recorded): boolean {
  return state.shown;
}

function linesOf(part: Recorded): readonly string[] {
  switch (part.kind) {
    case "text":
      return [part.state.words];
    case "button":
      return [part.state.label];
    case "input":
    case "number":
      return [`${part.state.label}: ${part.state.value ?? ""}`, part.state.help].filter(
        (line) => line !== "",
      );
    case "table": {
      const { caption, columns, rows } = part.state;
      return [caption, ...[columns, ...rows].map((cells) => cells.join(" | "))];
    }
    case "progress":
      return [`${part.state.label}: ${percent(part.state.part)}`];
    case "image":
      return [part.state.alt];
  }
}

function percent(part: number | undefined): string {
  return part === undefined ? "…" : `${Math.floor(part * 100)} %`;
}
