// Taken before any attack changes them.
const { apply, getOwnPropertyDescriptor, ownKeys } = Reflect;
const { indexOf, slice } = String.prototype;
const { isArray } = Array;
const MOST = 9000;
const DEEPEST = 3;

/** What an attack took, shown on the attacker's own card for the suite to read. */
export class Loot {
  #shown;
  #state;
  #words = "";
  #busy = false;

  constructor(shown, state) {
    this.#shown = shown;
    this.#state = state;
    shown.set("");
    state.set("");
  }

  /** Show something. */
  take(value) {
    // Showing it may come here again, by what an attack has replaced.
    if (this.#busy) {
      return;
    }
    this.#busy = true;
    try {
      const words = textOf(value, 0);
      if (apply(indexOf, this.#words, [words]) < 0) {
        this.#words = apply(slice, `${words} ${this.#words}`, [0, MOST]);
        this.#shown.set(this.#words);
      }
    } finally {
      this.#busy = false;
    }
  }

  /** Show it if a secret may be in it. */
  sift(value) {
    if (this.#busy) {
      return;
    }
    const words = textOf(value, 0);
    if (apply(indexOf, words, ["secret-"]) >= 0 || apply(indexOf, words, ["token"]) >= 0) {
      this.take(words);
    }
  }

  /** Take what a window has. */
  steal(page) {
    this.take(page.document.cookie);
    this.take(page.localStorage.getItem("plugin-bridge.token"));
  }

  /** Have the connection to the daemon dropped, as it happens to any. */
  drop() {
    this.#state.set("The connection drops.");
  }

  /** Nothing more is attempted. */
  over() {
    this.#state.set("The attack is over.");
  }

  /** It met an error. */
  stopped(error) {
    this.#state.set(`The attack was stopped: ${error}`);
  }
}

function textOf(value, depth) {
  if (typeof value === "string" || typeof value === "number") {
    return `${value}`;
  }
  if (typeof value !== "object" || value === null || depth > DEEPEST) {
    return typeof value;
  }
  let text = "";
  const keys = ownKeys(value);
  for (let at = 0; at < keys.length && at < 50; at += 1) {
    const key = keys[at];
    // No getter is called: one of a function's arguments throws.
    const { value: part } = getOwnPropertyDescriptor(value, key);
    if (typeof key === "string" && part !== undefined) {
      text += `${isArray(value) ? "" : ` ${key}:`} ${textOf(part, depth + 1)}`;
    }
  }
  return text;
}
