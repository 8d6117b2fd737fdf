/** The handles that plugins get: records of functions, which lead to no object of ours. */

import type { CardScreen, Drawn, InputState, NumberState, Screen, TableState } from "./screen.js";
import { problemOf } from "./settingrules.js";
import type {
  ButtonHandle,
  Card,
  Handle,
  ImageHandle,
  InputHandle,
  InputOptions,
  NumberHandle,
  NumberOptions,
  ProgressHandle,
  TableHandle,
  TextHandle,
  Ui,
} from "./ui.js";
import {
  MOST_ALT,
  MOST_CARDS,
  MOST_CELLS,
  MOST_HELP,
  MOST_LABEL,
  MOST_PARTS,
  MOST_WORDS,
  readColumns,
  readFunction,
  readImage,
  readMaxLength,
  readNumber,
  readOptional,
  readOptions,
  readPart,
  readRows,
  readText,
  within,
} from "./uirules.js";

/**
 * Make the `ctx.ui` of one plugin.
 *
 * @param cells How many its tables may have. A page that draws parts in another order than they
 *   were changed, each once, has at most those before and those after: twice as many.
 */
export function makeUi(screen: Screen, cells = MOST_CELLS): Ui {
  const all: All = { screen, cells, cards: new Set(), parts: new Map() };
  return {
    card: (title) => {
      const words = readLabel("title", title);
      within(all.cards.size < MOST_CARDS, "card", `at most ${MOST_CARDS} for a plugin`);
      return makeCard(all, screen.card(words));
    },
  };
}

function makeCard(all: All, card: CardScreen): Card {
  const { cards } = all;
  const own = new Set<() => void>();
  cards.add(card);
  const place: Place = { ...all, card, own, isThere: () => cards.has(card) };
  return {
    text: (words, options) => makeText(place, words, options),
    button: (label, pressed) => makeButton(place, label, pressed),
    input: (label, options) => makeInput(place, label, options),
    number: (label, options) => makeNumber(place, label, options),
    table: (caption, columns) => makeTable(place, caption, columns),
    progress: (label, part) => makeProgress(place, label, part),
    image: (data, alt) => makeImage(place, data, alt),
    remove: () => {
      for (const removePart of [...own]) {
        removePart();
      }
      if (cards.delete(card)) {
        card.remove();
      }
    },
  };
}

/** What a plugin shows. */
interface All {
  readonly screen: Screen;
  /** The most cells of its tables. */
  readonly cells: number;
  readonly cards: Set<object>;
  /** Every part, and what it shows. */
  readonly parts: Map<object, () => object>;
}

/** Where a part is added. */
interface Place extends All {
  readonly card: CardScreen;
  /** What removes the parts of this card. */
  readonly own: Set<() => void>;
  /** Whether the card was not removed. */
  readonly isThere: () => boolean;
}

/** A part: what its handle is made of. */
interface Part<State> {
  state(): State;
  change(next: Partial<State>): void;
  readonly handle: Handle;
}

function makePart<State extends { readonly shown: boolean }>(
  { parts, own, isThere }: Place,
  first: State,
  draw: (first: State) => Drawn<State>,
): Part<State> {
  within(isThere(), "card", "one that was not removed");
  within(parts.size < MOST_PARTS, "card", `at most ${MOST_PARTS} parts for a plugin`);
  const drawn = draw(first);
  let now = first;
  const state = (): State => now;
  parts.set(drawn, state);
  const change = (next: Partial<State>): void => {
    if (parts.has(drawn)) {
      now = { ...now, ...next };
      drawn.draw(now);
    }
  };
  const show = (shown: boolean): void => change({ shown: Boolean(shown) } as Partial<State>);
  const remove = (): void => {
    if (parts.delete(drawn)) {
      own.delete(remove);
      drawn.remove();
    }
  };
  own.add(remove);
  return { state, change, handle: { show, remove } };
}

function makeText(place: Place, words: string, options: unknown): TextHandle {
  const { live } = readOptions(options);
  const first = { words: readWords(words), live: Boolean(live), shown: true };
  const part = makePart(place, first, (state) => place.card.text(state));
  return {
    ...part.handle,
    set: (next) => part.change({ words: readWords(next) }),
  };
}

function makeButton(
  place: Place,
  label: string,
  pressed: () => void | Promise<void>,
): ButtonHandle {
  const press = readFunction("pressed", pressed);
  const first = { label: readLabel("label", label), enabled: true, shown: true };
  const part = makePart(place, first, (state) =>
    place.card.button(state, async () => {
      const { label: name, enabled } = part.state();
      if (enabled) {
        await attempt(place.screen, `the button “${name}”`, () => press());
      }
    }),
  );
  return {
    ...part.handle,
    setLabel: (next) => part.change({ label: readLabel("label", next) }),
    enable: (enabled) => part.change({ enabled: Boolean(enabled) }),
  };
}

function makeInput(place: Place, label: string, options: unknown): InputHandle {
  const { value = "", help, maxLength, changed } = readOptions(options);
  const heard = readListener<InputOptions["changed"]>(changed);
  const most = readMaxLength(maxLength);
  const first: InputState = {
    ...readField(label, help),
    value: readLine(value, most),
    maxLength: most,
  };
  const part = makePart(place, first, (state) =>
    place.card.input(state, async (written) => {
      const now = written.slice(0, most);
      part.change({ value: now });
      await attempt(place.screen, fieldNamed(first), () => heard?.({ value: now }));
    }),
  );
  return {
    ...part.handle,
    value: () => part.state().value,
    set: (next) => {
      const line = readLine(next, most);
      part.change({ value: line, writes: part.state().writes + 1 });
    },
    enable: (enabled) => part.change({ enabled: Boolean(enabled) }),
  };
}

function makeNumber(place: Place, label: string, options: unknown): NumberHandle {
  const { value, help, min, max, integer, changed } = readOptions(options);
  const heard = readListener<NumberOptions["changed"]>(changed);
  const limits: Limits = {
    min: readOptional("min", min),
    max: readOptional("max", max),
    integer: Boolean(integer),
  };
  const ordered = (limits.min ?? -Infinity) <= (limits.max ?? Infinity);
  within(ordered, "min", "at most max");
  const usual = value === undefined ? undefined : readAllowed(value, limits);
  const first: NumberState = {
    ...readField(label, help),
    ...limits,
    value: usual,
    problem: "",
  };
  const part = makePart(place, first, (state) =>
    place.card.number(state, async (written) => {
      const problem = written === undefined ? "" : problemWith(written, limits);
      part.change(problem === "" ? { value: written, problem } : { problem });
      if (problem === "") {
        const event = { value: written };
        await attempt(place.screen, fieldNamed(first), () => heard?.(event));
      }
    }),
  );
  return {
    ...part.handle,
    value: () => part.state().value,
    set: (next) => {
      const number = next === undefined ? undefined : readAllowed(next, limits);
      part.change({ value: number, problem: "", writes: part.state().writes + 1 });
    },
    enable: (enabled) => part.change({ enabled: Boolean(enabled) }),
  };
}

type Limits = Pick<NumberState, "min" | "max" | "integer">;

function problemWith(value: number, { min, max, integer }: Limits): string {
  const limits = {
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
  };
  return problemOf({ type: "number", label: "", default: 0, integer, ...limits }, value);
}

function readAllowed(value: unknown, limits: Limits): number {
  const number = readNumber("value", value);
  const problem = problemWith(number, limits);
  within(problem === "", "value", problem);
  return number;
}

function makeTable(place: Place, caption: string, columns: unknown): TableHandle {
  const headings = readColumns(columns);
  const name = readLabel("caption", caption);
  const first = { caption: name, columns: headings, rows: readRows([], 0), shown: true };
  const part = makePart(place, first, (state) => place.card.table(state));
  return {
    ...part.handle,
    setRows: (given) => {
      const rows = readRows(given, headings.length);
      const others = [...place.parts.values()].filter((state) => state !== part.state);
      const cells = others.reduce((sum, state) => sum + cellsOf(state()), cellsOf({ ...first, rows }));
      within(cells <= place.cells, "rows", `at most ${MOST_CELLS} cells for a plugin`);
      part.change({ rows });
    },
  };
}

function cellsOf({ rows = [], columns = [] }: Partial<TableState>): number {
  return rows.length * columns.length;
}

function makeProgress(place: Place, label: string, done: unknown): ProgressHandle {
  const first = { label: readLabel("label", label), part: readPart(done), shown: true };
  const part = makePart(place, first, (state) => place.card.progress(state));
  return {
    ...part.handle,
    set: (next) => part.change({ part: readPart(next) }),
  };
}

function makeImage(place: Place, data: unknown, alt: string): ImageHandle {
  const read = (bytes: unknown, words: string) => ({
    url: readImage(bytes),
    alt: readText("alt", words, 0, MOST_ALT),
  });
  const first = { ...read(data, alt), shown: true };
  const part = makePart(place, first, (state) => place.card.image(state));
  return {
    ...part.handle,
    set: (next, words) => part.change(read(next, words)),
  };
}

function readLabel(name: string, value: unknown): string {
  return readText(name, value, 1, MOST_LABEL);
}

function readWords(value: unknown): string {
  return readText("words", value, 0, MOST_WORDS);
}

function readLine(value: unknown, most: number): string {
  const line = readText("value", value, 0, most);
  within(!/[\r\n]/.test(line), "value", "one line");
  return line;
}

function readField(label: unknown, help: unknown) {
  const about = help === undefined ? "" : readText("help", help, 0, MOST_HELP);
  return {
    label: readLabel("label", label),
    help: about,
    enabled: true,
    shown: true,
    writes: 0,
  };
}

function fieldNamed({ label }: { readonly label: string }): string {
  return `the field “${label}”`;
}

function readListener<Listener>(value: unknown): Listener | undefined {
  return value === undefined ? undefined : (readFunction("changed", value) as Listener);
}

async function attempt(
  screen: Screen,
  what: string,
  work: () => void | Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (e) {
    screen.failed(what, e);
  }
}
