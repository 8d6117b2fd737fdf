/** @jsx h */
/** Small parts that every view uses. */

import { type ComponentChildren, h } from "preact";
import { useEffect, useId, useReducer, useState } from "preact/hooks";

import { openable } from "../model/address.js";
import type { Announcer } from "../model/announcer.js";
import type { PageModel } from "../model/model.js";
import { type Row, isToStart } from "../model/rows.js";
import type { Named } from "../names.js";
import type { Signal } from "../signal.js";

// Sixty plugins that start change hundreds of times in a second, in which they need the
// processor more than the views do.
const DRAWN_MILLISECONDS = 100;

/** Draw a component again soon after one of these changes, at once where none did before. */
export function useChanges(...signals: readonly Signal[]): void {
  const [, redraw] = useReducer<number, void>((times) => times + 1, 0);
  useEffect(() => {
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

/** A link to another part of the page, which looks like a button. */
export function ButtonLink(props: {
  readonly href: string;
  readonly children: ComponentChildren;
  readonly kind?: "primary" | "quiet";
  readonly name?: string;
  readonly id?: string;
}) {
  return (
    <a
      class={`button ${props.kind ?? ""}`}
      href={props.href}
      aria-label={props.name}
      id={props.id}
    >
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

/** Who has written a plugin; of others, so it turns nothing around it. */
export function By({ author }: { readonly author: string }) {
  return (
    <span>
      By <bdi>{author}</bdi>.{" "}
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

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly id?: string;
  readonly type?: "text" | "search" | "number";
  readonly mode?: "url" | "numeric" | "decimal";
  readonly placeholder?: string;
  readonly help?: string;
  /** What is wrong with the value; empty when nothing is. */
  readonly error?: string;
  readonly children?: ComponentChildren;
}

/** A field with its label, and what is wrong with it. */
export function Field(props: FieldProps) {
  const made = useId();
  const id = props.id ?? made;
  const hints = [props.help ? `${id}-help` : "", props.error ? `${id}-error` : ""];
  return (
    <div class="field">
      <label for={id} dir="auto">
        {props.label}
      </label>
      <div class="row">
        <input
          id={id}
          // The library's types want each type with a role of its own.
          type={(props.type ?? "text") as "text"}
          inputMode={props.mode}
          placeholder={props.placeholder}
          value={props.value}
          autoComplete="off"
          dir={props.mode === undefined ? "auto" : undefined}
          spellcheck={false}
          step={props.type === "number" ? "any" : undefined}
          aria-invalid={props.error ? "true" : undefined}
          aria-describedby={hints.join(" ").trim() || undefined}
          onInput={(event) => props.onValue(event.currentTarget.value)}
        />
        {props.children}
      </div>
      {props.help ? (
        <p class="dim small" id={`${id}-help`} dir="auto">
          {props.help}
        </p>
      ) : null}
      {props.error ? (
        <p class="error" id={`${id}-error`}>
          {props.error}
        </p>
      ) : null}
    </div>
  );
}

export function Select(props: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly onValue: (value: string) => void;
  readonly help?: string;
  readonly id?: string;
}) {
  const made = useId();
  const id = props.id ?? made;
  return (
    <div class="field">
      <label for={id} dir="auto">
        {props.label}
      </label>
      <select
        id={id}
        aria-describedby={props.help ? `${id}-help` : undefined}
        onChange={(event) => props.onValue(event.currentTarget.value)}
      >
        {props.options.map(({ value, label }) => (
          <option key={value} value={value} selected={value === props.value}>
            {label}
          </option>
        ))}
      </select>
      {props.help ? (
        <p class="dim small" id={`${id}-help`} dir="auto">
          {props.help}
        </p>
      ) : null}
    </div>
  );
}

/** Copies a text; says so on the button for a moment. */
export function Copy(props: {
  readonly text: string | (() => string);
  readonly announcer: Announcer;
  readonly label?: string;
  readonly name?: string;
  readonly done?: () => string;
  readonly id?: string;
}) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    const text = typeof props.text === "string" ? props.text : props.text();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      copyBySelection(text);
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
    props.announcer.polite(props.done?.() ?? "Copied.");
  };
  return (
    <Button onPress={() => void copy()} name={props.name} id={props.id}>
      {copied ? "Copied" : (props.label ?? "Copy")}
    </Button>
  );
}

// For pages that are shown inside an application without the clipboard's permission.
function copyBySelection(text: string): void {
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) {
    focused.focus();
  }
}

/** That a plugin asks no more, with a button that lets it; nothing for any other plugin. */
export function AskAgain({ model, row }: { readonly model: PageModel; readonly row: Named }) {
  if (!model.questions.isSilent(row.id)) {
    return null;
  }
  return (
    <div class="row wrap ask-again">
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

/** Start a plugin again that the page has stopped. */
export function StartStopped({ model, row }: { readonly model: PageModel; readonly row: Row }) {
  return isToStart(row) ? (
    <div class="actions">
      <Button
        id={`start-${row.id}`}
        name={`Start ${row.name}`}
        off={model.link.state !== "connected"}
        onPress={() => void model.setEnabled(row.id, true)}
      >
        Start
      </Button>
    </div>
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
