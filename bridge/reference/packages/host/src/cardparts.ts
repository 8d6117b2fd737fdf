/** The parts of a plugin's card, as elements. */

import type {
  ButtonState,
  Drawn,
  ImageState,
  InputState,
  NumberState,
  ProgressState,
  TableState,
  TextState,
} from "../../api/src/screen.js";

const QUARTERS = 4;
/** The most characters of a text that is laid out where it is not on the screen. */
const SHORT_TEXT = 200;

let ids = 0;

/** Add a paragraph. */
export function textOn(body: HTMLElement, first: TextState): Drawn<TextState> {
  const paragraph = made("p");
  if (first.live) {
    paragraph.setAttribute("role", "status");
  }
  return drawn(body, paragraph, first, ({ words }) => {
    paragraph.className = words.length > SHORT_TEXT ? "long" : "";
    if (paragraph.textContent !== words) {
      paragraph.textContent = words;
    }
  });
}

/** Add a button. */
export function buttonOn(
  body: HTMLElement,
  first: ButtonState,
  pressed: () => Promise<void>,
): Drawn<ButtonState> {
  const button = made("button", "primary");
  button.type = "button";
  // No argument: the event has elements.
  button.addEventListener("click", () => void pressed());
  return drawn(body, button, first, ({ label, enabled }) => {
    button.textContent = label;
    // It keeps the focus, as a disabled button would not.
    button.ariaDisabled = enabled ? null : "true";
  });
}

/** Add a field for text. */
export function inputOn(
  body: HTMLElement,
  first: InputState,
  changed: (value: string) => Promise<void>,
): Drawn<InputState> {
  const { element, input } = field(first);
  input.type = "text";
  input.dir = "auto";
  input.maxLength = first.maxLength;
  input.addEventListener("change", () => void changed(input.value));
  let writes = -1;
  return drawn(body, element, first, (state) => {
    input.readOnly = !state.enabled;
    if (state.writes !== writes) {
      writes = state.writes;
      input.value = state.value;
    }
  });
}

/** Add a field for a number. */
export function numberOn(
  body: HTMLElement,
  first: NumberState,
  changed: (value: number | undefined) => Promise<void>,
): Drawn<NumberState> {
  const { element, input, describedBy } = field(first);
  input.type = "number";
  input.step = first.integer ? "1" : "any";
  input.min = String(first.min ?? "");
  input.max = String(first.max ?? "");
  const problem = made("p", "error");
  problem.id = `${input.id}-problem`;
  problem.setAttribute("role", "alert");
  element.append(problem);
  input.addEventListener("change", () => {
    const empty = input.value === "" && !input.validity.badInput;
    void changed(empty ? undefined : input.valueAsNumber);
  });
  let writes = -1;
  return drawn(body, element, first, (state) => {
    input.readOnly = !state.enabled;
    if (state.writes !== writes) {
      writes = state.writes;
      input.value = state.value === undefined ? "" : String(state.value);
    }
    problem.textContent = state.problem;
    problem.hidden = state.problem === "";
    input.ariaInvalid = problem.hidden ? null : "true";
    describe(input, [...describedBy, ...(problem.hidden ? [] : [problem.id])]);
  });
}

/** Add a table. */
export function tableOn(body: HTMLElement, first: TableState): Drawn<TableState> {
  const table = made("table");
  const caption = made("caption", "", first.caption);
  caption.id = newId();
  const heading = made("tr");
  for (const column of first.columns) {
    const cell = made("th", "", column);
    cell.scope = "col";
    heading.append(cell);
  }
  const head = made("thead");
  head.append(heading);
  const rows = made("tbody");
  table.append(caption, head, rows);
  // What scrolls has to be within reach of the keyboard.
  const frame = made("div", "table-frame");
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-labelledby", caption.id);
  frame.append(table);
  let shown: TableState["rows"] | undefined;
  return drawn(body, frame, first, (state) => {
    if (state.rows !== shown) {
      shown = state.rows;
      rows.replaceChildren(...state.rows.map(row));
    }
  });
}

function row(cells: readonly string[]): HTMLElement {
  const element = made("tr");
  element.append(...cells.map((words) => made("td", "", words)));
  return element;
}

/** Add a progress bar; each quarter is announced. */
export function progressOn(body: HTMLElement, first: ProgressState): Drawn<ProgressState> {
  const element = made("div", "field progress");
  const label = made("label", "", first.label);
  const bar = made("progress");
  bar.id = newId();
  label.htmlFor = bar.id;
  const percent = made("span", "dim small");
  percent.ariaHidden = "true";
  const status = made("span", "hidden");
  status.setAttribute("role", "status");
  const line = made("div", "row");
  line.append(bar, percent);
  element.append(label, line, status);
  let announced = quarterOf(first);
  return drawn(body, element, first, (state) => {
    if (state.part === undefined) {
      bar.removeAttribute("value");
      percent.textContent = "";
    } else {
      bar.value = state.part;
      percent.textContent = `${Math.floor(state.part * 100)} %`;
    }
    const quarter = quarterOf(state);
    if (quarter !== announced) {
      announced = quarter;
      status.textContent = `${state.label}: ${(quarter * 100) / QUARTERS} %`;
    }
  });
}

function quarterOf({ part = 0 }: ProgressState): number {
  return Math.floor(part * QUARTERS);
}

/** Add an image. */
export function imageOn(body: HTMLElement, first: ImageState): Drawn<ImageState> {
  const image = made("img");
  return drawn(body, image, first, ({ url, alt }) => {
    image.alt = alt;
    if (image.src !== url) {
      image.src = url;
    }
  });
}

interface Field {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
  /** The ids of what describes it. */
  readonly describedBy: readonly string[];
}

function field({ label, help }: { readonly label: string; readonly help: string }): Field {
  const element = made("div", "field");
  const input = made("input");
  input.id = newId();
  input.autocomplete = "off";
  input.spellcheck = false;
  const title = made("label", "", label);
  title.htmlFor = input.id;
  element.append(title, input);
  if (help === "") {
    return { element, input, describedBy: [] };
  }
  const about = made("p", "dim small", help);
  about.id = `${input.id}-help`;
  element.append(about);
  describe(input, [about.id]);
  return { element, input, describedBy: [about.id] };
}

function describe(input: HTMLInputElement, ids: readonly string[]): void {
  if (ids.length === 0) {
    input.removeAttribute("aria-describedby");
  } else {
    input.setAttribute("aria-describedby", ids.join(" "));
  }
}

function drawn<State extends { readonly shown: boolean }>(
  body: HTMLElement,
  element: HTMLElement,
  first: State,
  show: (state: State) => void,
): Drawn<State> {
  const draw = (state: State): void => {
    element.hidden = !state.shown;
    show(state);
  };
  draw(first);
  body.append(element);
  return { draw, remove: () => element.remove() };
}

function newId(): string {
  ids += 1;
  return `card-part-${ids}`;
}

/** Make an element. */
export function made<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className = "",
  words = "",
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = words;
  return element;
}
