/** @jsx h */
/** Small parts that every view uses. */

import { type ComponentChildren, h } from "preact";
import { useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";

import { openable } from "../model/address.js";
import type { Announcer } from "../model/announcer.js";
import type { PageModel } from "../model/model.js";
import { type Row, isToStart } from "../model/rows.js";
import { type Named, alone, shownName } from "../names.js";
import type { Signal } from "../signal.js";

// Sixty plugins that start change hundreds of times in a second, in which they need the
// processor more than the views do.
const DRAWN_MILLISECONDS = 100;

/** Draw a component again soon after one of these changes, at once where none did before. */
export function useChanges(...signals: readonly Signal[]): void {
  const [, redraw] = useReducer<number, void>((times) => times + 1, 0);
  // An effect would begin after the browser has drawn, and miss what changes until then.
  useLayoutEffect(() => {
    let timer: number | undefined;
    let drawn = -DRAWN_MILLISECONDS;
    const draw = (): void => {
      timer = undefined;
      drawn = performance.now();
      redraw();
    };
    const changed = (): void => {
      timer ??= window.setTimeout(draw, drawn + DRAWN_MILLISECONDS - performance.now());
    };
    const ends = signals.map((signal) => signal.listen(changed));
    return () => {
      window.clearTimeout(timer);
      ends.forEach((end) => end());
    };
  }, []);
}

interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onPress: () => void;
  readonly kind?: "primary" | "danger" | "quiet" | undefined;
  /** Whether it does nothing now; it keeps the focus, as a disabled button would not. */
  readonly off?: boolean | undefined;
  readonly id?: string | undefined;
  /** What a screen reader reads, where the label alone is not clear. */
  readonly name?: string | undefined;
}

export function Button({ children, onPress, kind, off, id, name }: ButtonProps) {
  return (
    <button
      type="button"
      id={id}
      class={kind}
      aria-disabled={off === true ? "true" : undefined}
      aria-label={name}
      onClick={() => off === true || onPress()}
    >
      {children}
    </button>
  );
}

/** Give the focus to what has this id. */
export function focusOn(id: string): void {
  document.getElementById(id)?.focus();
}

/** Buttons in a row. */
export function Actions({ children }: { readonly children: ComponentChildren }) {
  return <div class="actions">{children}</div>;
}

/** Parts that belong together, below what they are. */
export function Group({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <div class="stack tight">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

/** A link to another part of the page, which looks like a button. */
export function ButtonLink(props: {
  readonly href: string;
  readonly children: ComponentChildren;
  readonly kind?: "primary";
  readonly id?: string;
}) {
  return (
    <a class={`button ${props.kind ?? ""}`} href={props.href} id={props.id}>
      {props.children}
    </a>
  );
}

interface SwitchProps {
  readonly on: boolean;
  readonly label: string;
  readonly onChange: (on: boolean) => void;
  readonly off?: boolean;
  readonly id?: string;
}

export function Switch({ on, label, onChange, off, id }: SwitchProps) {
  return (
    <button
      type="button"
      role="switch"
      class="switch"
      id={id}
      aria-checked={on}
      aria-label={label}
      aria-disabled={off === true ? "true" : undefined}
      onClick={() => off === true || onChange(!on)}
    >
      <span class="track" aria-hidden="true" />
      <span aria-hidden="true">{on ? "On" : "Off"}</span>
    </button>
  );
}

/** What takes the focus once an item is gone from a list. */
export function nextTo<Item>(items: readonly Item[], isGone: (item: Item) => boolean): Item | undefined {
  const at = items.findIndex(isGone);
  return items[at + 1] ?? items[at - 1];
}

/** Who has written a plugin; in quotes, as others may write sentences of the page's there. */
export function By({ author }: { readonly author: string }) {
  return (
    <span>
      By “<bdi>{alone(shownName(author))}</bdi>”.{" "}
    </span>
  );
}

interface TitleProps {
  readonly children: ComponentChildren;
  /** `auto` for a text of others. */
  readonly dir?: "auto";
}

/** The title of a view; the focus goes to it when the view is opened. */
export function Title({ children, dir }: TitleProps) {
  return (
    <h2 tabIndex={-1} data-title="" dir={dir}>
      {children}
    </h2>
  );
}

export function Details(props: {
  readonly children: ComponentChildren;
  readonly summary?: string;
  readonly id?: string;
}) {
  return (
    <details class="details" id={props.id}>
      <summary>{props.summary ?? "Details"}</summary>
      <div class="body">{props.children}</div>
    </details>
  );
}

/** What a developer may want to know, on demand; nothing when it is empty. */
export function Reason({ children }: { readonly children: string }) {
  return children === "" ? null : (
    <Details>
      <pre dir="auto">{children}</pre>
    </Details>
  );
}

/** What a form does when it is sent, instead of what browsers do. */
export function submits(work: () => void) {
  return (event: Event): void => {
    event.preventDefault();
    work();
  };
}

interface LabelledProps {
  /** Of what is labelled. */
  readonly id: string;
  readonly label: string;
  readonly help?: string;
  /** What is wrong with the value; empty when nothing is. */
  readonly error?: string;
}

/** A control with its label, and what is wrong with it. */
function Labelled(props: LabelledProps & { readonly children: ComponentChildren }) {
  const { id, label, help, error, children } = props;
  return (
    <div class="field">
      <label for={id} dir="auto">
        {label}
      </label>
      {children}
      {help ? (
        <p class="dim small" id={`help-${id}`} dir="auto">
          {help}
        </p>
      ) : null}
      {error ? (
        <p class="error" id={`error-${id}`}>
          {error}
        </p>
      ) : null}
    </div>
  );
}

/** The attributes of a control that tie it to its hints. */
function described({ id, help, error }: LabelledProps) {
  const hints = [help ? `help-${id}` : "", error ? `error-${id}` : ""].join(" ").trim();
  return { id, "aria-invalid": error ? "true" : undefined, "aria-describedby": hints || undefined } as const;
}

interface FieldProps extends LabelledProps {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly type?: "search";
  readonly mode?: "url" | "numeric" | "decimal";
  readonly placeholder?: string;
  /** Whether it takes several lines. */
  readonly multiline?: boolean;
  readonly children?: ComponentChildren;
}

/** A field for a text. */
export function Field(props: FieldProps) {
  const { value, mode, onValue } = props;
  const onInput = ({ currentTarget }: { currentTarget: { readonly value: string } }): void =>
    onValue(currentTarget.value);
  return (
    <Labelled {...props}>
      {props.multiline === true ? (
        <textarea {...described(props)} dir="auto" rows={5} value={value} onInput={onInput} />
      ) : (
        <div class="row">
          <input
            {...described(props)}
            // The library's types want each type with a role of its own.
            type={(props.type ?? "text") as "text"}
            inputMode={mode}
            placeholder={props.placeholder}
            value={value}
            autoComplete="off"
            dir={mode === undefined ? "auto" : undefined}
            spellcheck={false}
            onInput={onInput}
          />
          {props.children}
        </div>
      )}
    </Labelled>
  );
}

interface SelectProps extends LabelledProps {
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly onValue: (value: string) => void;
}

/** A choice of one. */
export function Select(props: SelectProps) {
  return (
    <Labelled {...props}>
      <select {...described(props)} onChange={(event) => props.onValue(event.currentTarget.value)}>
        {props.options.map(({ value, label }) => (
          <option key={value} value={value} selected={value === props.value}>
            {label}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

/** Copies a text; says so on the button for a moment. */
export function Copy(props: {
  readonly text: string | (() => string);
  readonly announcer: Announcer;
  readonly name?: string;
  readonly done?: () => string;
  readonly id?: string;
}) {
  const [label, setLabel] = useState("Copy");
  const copy = async (): Promise<void> => {
    const text = typeof props.text === "string" ? props.text : props.text();
    let isDone = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      isDone = copyBySelection(text);
    }
    setLabel(isDone ? "Copied" : "Not copied");
    setTimeout(() => setLabel("Copy"), 2_000);
    props.announcer.polite(isDone ? (props.done?.() ?? "Copied.") : "Not copied.");
  };
  return (
    <Button onPress={() => void copy()} name={props.name} id={props.id}>
      {label}
    </Button>
  );
}

// For pages that are shown inside an application without the clipboard's permission.
function copyBySelection(text: string): boolean {
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  // What is outside of an open dialog can't be selected.
  (focused?.closest("dialog") ?? document.body).append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) {
    focused.focus();
  }
  return isDone;
}

/** That a plugin asks no more, with a button that lets it; nothing for any other plugin. */
export function AskAgain({ model, row }: { readonly model: PageModel; readonly row: Named }) {
  if (!model.questions.isSilent(row.id)) {
    return null;
  }
  return (
    <div class="row">
      <p class="dim small">You said no twice, so it asks no more.</p>
      <Button
        name={`Let ${row.name} ask again`}
        onPress={() => {
          model.questions.letAsk(row.id);
          model.announcer.polite(`${row.name} may ask again.`);
        }}
      >
        Ask again
      </Button>
    </div>
  );
}

/** Start a plugin again that the page has stopped, or that didn't start. */
export function StartStopped(props: {
  readonly model: PageModel;
  readonly row: Row;
  readonly id: string;
}) {
  const { model, row, id } = props;
  return isToStart(row) ? (
    <Actions>
      <Button
        id={id}
        name={`Start ${row.name}`}
        off={!model.isConnected}
        onPress={() => void model.setEnabled(row.id, true)}
      >
        Start
      </Button>
    </Actions>
  ) : null;
}

/** A link to a site; the text alone when it is none that a browser may open. */
export function Outside({ url, children }: { readonly url: string; readonly children: ComponentChildren }) {
  const href = openable(url);
  return href === "" ? (
    <span>{children}</span>
  ) : (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** Whether some time has passed since this was first shown, or since `since` changed. */
export function useAfter(milliseconds: number, since?: unknown): boolean {
  const [passed, setPassed] = useState(false);
  useEffect(() => {
    setPassed(false);
    const timer = setTimeout(() => setPassed(true), milliseconds);
    return () => clearTimeout(timer);
  }, [milliseconds, since]);
  return passed;
}

/** Draw again every second, for a clock. */
export function useSeconds(): void {
  const [, tick] = useReducer<number, void>((times) => times + 1, 0);
  useEffect(() => {
    const timer = setInterval(() => tick(), 1_000);
    return () => clearInterval(timer);
  }, []);
}
