/** The screen of a realm: what is drawn on it becomes changes that the page draws. */

import type { Json } from "@bridge/plugin-api";

import type { CardScreen, Drawn, Screen } from "../../../api/src/screen.js";
import type { Change, Kind, Ref, State } from "./wire.js";

// The page has its own: what the user wrote, and whether the field accepts it.
const OF_THE_PAGE: readonly string[] = ["value", "problem"];

type Listener = (value: never) => Promise<void>;

/** Records what the handles draw. */
export class Recorder implements Screen {
  readonly #change: (change: Change) => void;
  readonly #failed: (what: string, error: unknown) => void;
  readonly #listeners = new Map<Ref, Listener>();
  #refs = 0;

  constructor(change: (change: Change) => void, failed: (what: string, error: unknown) => void) {
    this.#change = change;
    this.#failed = failed;
  }

  card(title: string): CardScreen {
    const card = this.#next();
    this.#change({ op: "card", ref: card, title });
    const part =
      (kind: Kind) =>
      <S extends object>(state: S, listener?: Listener): Drawn<S> =>
        this.#part(card, kind, state, listener);
    return {
      text: part("text"),
      button: part("button"),
      input: part("input"),
      number: part("number"),
      table: part("table"),
      progress: part("progress"),
      image: part("image"),
      remove: () => this.#change({ op: "remove", ref: card }),
    };
  }

  failed(what: string, error: unknown): void {
    this.#failed(what, error);
  }

  /** The user pressed or changed a part. */
  event(ref: Ref, value: Json): void {
    // What fails is reported where it is called.
    void this.#listeners.get(ref)?.((value ?? undefined) as never);
  }

  #part<S extends object>(card: Ref, kind: Kind, first: S, listener?: Listener): Drawn<S> {
    const ref = this.#next();
    let last = stateOf(first);
    this.#change({ op: "part", ref, card, kind, state: last });
    if (listener !== undefined) {
      this.#listeners.set(ref, listener);
    }
    return {
      draw: (next) => {
        const state = stateOf(next);
        const changed = difference(last, state);
        last = state;
        if (Object.keys(changed).length > 0) {
          this.#change({ op: "draw", ref, state: changed });
        }
      },
      remove: () => {
        this.#listeners.delete(ref);
        this.#change({ op: "remove", ref });
      },
    };
  }

  #next(): Ref {
    this.#refs += 1;
    return this.#refs;
  }
}

function stateOf(state: object): State {
  const fields = Object.entries(state) as [string, Json | undefined][];
  return Object.fromEntries(fields.map(([name, value]) => [name, value ?? null]));
}

function difference(last: State, next: State): { [field: string]: Json } {
  const changed = Object.entries(next).filter(
    ([name, value]) => last[name] !== value && !OF_THE_PAGE.includes(name),
  );
  const state = Object.fromEntries(changed);
  return "writes" in state ? { ...state, value: next["value"] ?? null } : state;
}
