/** Drawing what a realm's cards show, by the same handles that a plugin has. */

import type {
  Card,
  ButtonHandle,
  Handle,
  ImageHandle,
  InputHandle,
  Json,
  NumberHandle,
  ProgressHandle,
  TableHandle,
  TextHandle,
  Ui,
} from "@bridge/plugin-api";

import { check } from "./reading.js";
import type { Change, Kind, Ref, State } from "./wire.js";

type Drawn = Exclude<Change, { readonly op: "log" }>;
type Event = (value?: Json) => void;

/** A part; the handles check whatever the realm passes. */
interface Part {
  readonly handle: Handle;
  readonly draw: (state: State) => void;
}

/** The cards of one realm. */
export class Drawings {
  readonly #ui: Ui;
  readonly #event: (ref: Ref, value?: Json) => void;
  readonly #cards = new Map<Ref, Card>();
  readonly #parts = new Map<Ref, Part & { readonly on: Ref }>();
  #last = 0;

  /** @param event The user pressed a button (without a value), or changed a field. */
  constructor(ui: Ui, event: (ref: Ref, value?: Json) => void) {
    this.#ui = ui;
    this.#event = event;
  }

  /**
   * Draw a change.
   *
   * @throws RangeError, TypeError It breaks a rule that holds in the realm, too.
   */
  apply(change: Drawn): void {
    const { op, ref } = change;
    switch (op) {
      case "card":
        this.#take(ref);
        this.#cards.set(ref, this.#ui.card(change.title));
        break;
      case "part": {
        this.#take(ref);
        const card = known(this.#cards.get(change.card));
        const part = MAKERS[change.kind](card, change.state, (value) => this.#event(ref, value));
        this.#parts.set(ref, { ...part, on: change.card });
        break;
      }
      case "draw":
        update(known(this.#parts.get(ref)), change.state);
        break;
      case "remove":
        this.#remove(ref);
    }
  }

  #remove(ref: Ref): void {
    const card = this.#cards.get(ref);
    if (card === undefined) {
      known(this.#parts.get(ref)).handle.remove();
      this.#parts.delete(ref);
      return;
    }
    card.remove();
    this.#cards.delete(ref);
    for (const [part, { on }] of this.#parts) {
      if (on === ref) {
        this.#parts.delete(part);
      }
    }
  }

  #take(ref: Ref): void {
    check(ref > this.#last, "each number once");
    this.#last = ref;
  }
}

function known<T>(found: T | undefined): T {
  check(found !== undefined, "a card or part that is there");
  return found;
}

function update({ handle, draw }: Part, state: State): void {
  if ("shown" in state) {
    handle.show(state["shown"] === true);
  }
  draw(state);
}

// Each reads what it gets, so the types are only what it expects.
const MAKERS: { readonly [kind in Kind]: (card: Card, state: State, event: Event) => Part } = {
  text(card, { words, live }) {
    const handle: TextHandle = card.text(words as string, { live: live === true });
    return { handle, draw: (state) => has(state, "words", (next) => handle.set(next as string)) };
  },
  button(card, { label }, event) {
    const handle: ButtonHandle = card.button(label as string, () => event());
    return {
      handle,
      draw: (state) => {
        has(state, "label", (next) => handle.setLabel(next as string));
        has(state, "enabled", (next) => handle.enable(next === true));
      },
    };
  },
  input(card, { label, ...given }, event) {
    const options = { ...optional(given), changed: ({ value }: { value: string }) => event(value) };
    const handle: InputHandle = card.input(label as string, options as object);
    return { handle, draw: (state) => drawField(handle, state) };
  },
  number(card, { label, ...given }, event) {
    const changed = ({ value }: { value: number | undefined }): void => event(value ?? null);
    const options = { ...optional(given), changed };
    const handle: NumberHandle = card.number(label as string, options as object);
    return { handle, draw: (state) => drawField(handle, state) };
  },
  table(card, { caption, columns }) {
    const handle: TableHandle = card.table(caption as string, columns as string[]);
    return { handle, draw: (state) => has(state, "rows", (rows) => handle.setRows(rows as [])) };
  },
  progress(card, { label, part }) {
    const handle: ProgressHandle = card.progress(label as string, (part ?? undefined) as number);
    const set = (next: Json): void => handle.set((next ?? undefined) as number);
    return { handle, draw: (state) => has(state, "part", set) };
  },
  image(card, first) {
    let { url, alt } = first;
    const handle: ImageHandle = card.image(url as string, alt as string);
    return {
      handle,
      draw: (state) => {
        ({ url = url, alt = alt } = state);
        if ("url" in state || "alt" in state) {
          handle.set(url as string, alt as string);
        }
      },
    };
  },
};

/** The options of a field that it was given: those that are not `null`, or empty. */
function optional({ value, help, maxLength, min, max, integer }: State): object {
  const given = Object.entries({ value, maxLength, min, max, integer });
  const options = given.filter(([, option]) => option !== null && option !== undefined);
  return { ...Object.fromEntries(options), ...(help === "" ? {} : { help }) };
}

function drawField(handle: InputHandle | NumberHandle, state: State): void {
  has(state, "enabled", (enabled) => handle.enable(enabled === true));
  has(state, "writes", () => handle.set((state["value"] ?? undefined) as never));
}

function has(state: State, field: string, work: (value: Json) => void): void {
  const value = state[field];
  if (value !== undefined) {
    work(value);
  }
}
