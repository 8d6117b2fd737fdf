/** What the realm's runtime sends: never more than the page allows. */

import { BridgeError, type Json, PermissionError } from "@bridge/plugin-api";

import { Bucket } from "../bucket.js";
import type { Environment } from "../environment.js";
import {
  type CallName,
  type Change,
  type FromRealm,
  LIMITS,
  PACE,
  type Refusal,
  mostCharacters,
} from "./wire.js";

type Draw = Extract<Change, { readonly op: "draw" }>;

/** A call, and what becomes of it. */
interface Call {
  readonly n: number;
  readonly text: string;
  readonly resolve: (value: Json) => void;
  readonly reject: (reason: Error) => void;
}

/** Sends messages, calls and batches of changes. */
export class Sender {
  readonly #post: (text: string) => void;
  readonly #environment: Environment;
  readonly #pace: Bucket;
  readonly #characters: Bucket;
  readonly #batches: Bucket;
  readonly #messages: string[] = [];
  #isPaced = false;
  #calls = 0;
  readonly #waiting: Call[] = [];
  readonly #unanswered = new Map<number, Call>();
  readonly #changes: Change[] = [];
  /** Those of `#changes` that can still become another: a batch draws a part once. */
  readonly #draws = new Map<number, Draw>();
  /** What is sent once there are no changes any more. */
  #last: FromRealm | undefined;
  #isDrawing = false;
  #isScheduled = false;

  /** @param post Send a text to the page. */
  constructor(post: (text: string) => void, environment: Environment) {
    this.#post = post;
    this.#environment = environment;
    this.#pace = new Bucket(PACE.messages, environment.now);
    this.#characters = new Bucket(PACE.characters, environment.now);
    this.#batches = new Bucket(PACE.batches, environment.now);
  }

  send(message: FromRealm): void {
    this.#sendText(JSON.stringify(message));
  }

  /** Send a message after which the page ends the plugin: after all that the plugin has changed. */
  sendLast(message: FromRealm): void {
    this.#last = message;
    this.#end();
  }

  /**
   * Call the page; resolves to its answer.
   *
   * @param args JSON; what is none is left out, or rejects with `TypeError`.
   */
  call(name: CallName, args: readonly unknown[]): Promise<Json> {
    return new Promise((resolve, reject) => {
      this.#calls += 1;
      const n = this.#calls;
      const text = JSON.stringify({ t: "call", n, name, args });
      const most = mostCharacters(name);
      if (text.length > most) {
        throw new BridgeError("too_large", `${name}: over ${most} characters`);
      }
      const call = { n, text, resolve, reject };
      if (name === "settings.set") {
        // One at a time, and before all that waits: the plugin may be about to end.
        this.#open(call);
      } else if (this.#waiting.length < PACE.waiting) {
        this.#waiting.push(call);
        this.#advance();
      } else {
        throw new BridgeError("rate_limited", `more than ${PACE.waiting} calls wait`);
      }
    });
  }

  /** The page answered a call. */
  answer(n: number, answer: { readonly ok?: Json; readonly error?: Refusal }): void {
    const call = this.#unanswered.get(n);
    this.#unanswered.delete(n);
    if (answer.error === undefined) {
      call?.resolve(answer.ok ?? null);
    } else {
      call?.reject(errorOf(answer.error));
    }
    this.#advance();
  }

  /** Add a change to the next batch. */
  change(change: Change): void {
    const { op } = change;
    const draw = op === "draw" ? this.#draws.get(change.ref) : undefined;
    if (op === "draw" && draw !== undefined) {
      Object.assign(draw.state, change.state);
      return;
    }
    this.#changes.push(change);
    if (op === "draw") {
      this.#draws.set(change.ref, change);
    }
    this.#schedule();
  }

  /** The page has drawn the last batch. */
  drawn(): void {
    this.#isDrawing = false;
    this.#schedule();
  }

  /** Send every change now: nothing comes after it. */
  flush(): void {
    while (this.#changes.length > 0) {
      this.#sendBatch();
    }
  }

  #schedule(): void {
    if (this.#isDrawing || this.#isScheduled || this.#changes.length === 0) {
      return;
    }
    this.#isScheduled = true;
    const work = (): void => {
      this.#isScheduled = false;
      if (!this.#isDrawing && this.#changes.length > 0) {
        this.#isDrawing = true;
        this.#sendBatch();
      }
    };
    const wait = this.#batches.wait();
    if (wait > 0) {
      this.#environment.later(wait, work);
    } else {
      queueMicrotask(work);
    }
  }

  #sendBatch(): void {
    const texts: string[] = [];
    let size = 0;
    for (const change of this.#changes) {
      const text = JSON.stringify(change);
      const isFull = texts.length >= LIMITS.changes || size + text.length > PACE.batch;
      if (isFull && texts.length > 0) {
        break;
      }
      texts.push(text);
      size += text.length + 1;
    }
    for (const change of this.#changes.splice(0, texts.length)) {
      if (change.op === "draw") {
        this.#draws.delete(change.ref);
      }
    }
    this.#sendText(`{"t":"batch","changes":[${texts.join()}]}`);
    this.#batches.take();
    this.#end();
  }

  #end(): void {
    if (this.#last !== undefined && this.#changes.length === 0) {
      this.send(this.#last);
      this.#last = undefined;
    }
  }

  #advance(): void {
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined || !this.#fits(next)) {
        return;
      }
      this.#waiting.shift();
      this.#open(next);
    }
  }

  #open(call: Call): void {
    this.#unanswered.set(call.n, call);
    this.#sendText(call.text);
  }

  #fits({ text }: Call): boolean {
    const open = [...this.#unanswered.values()];
    const characters = open.reduce((sum, call) => sum + call.text.length, text.length);
    return (
      open.length === 0 ||
      (open.length < LIMITS.unanswered && characters <= PACE.unansweredCharacters)
    );
  }

  #sendText(text: string): void {
    this.#messages.push(text);
    this.#drain();
  }

  #drain(): void {
    for (;;) {
      const [text] = this.#messages;
      if (text === undefined || this.#isPaced) {
        return;
      }
      const wait = Math.max(this.#pace.wait(), this.#characters.wait(text.length));
      if (wait === 0) {
        this.#pace.take();
        this.#characters.take(text.length);
        this.#messages.shift();
        this.#post(text);
      } else {
        this.#isPaced = true;
        this.#environment.later(wait, () => {
          this.#isPaced = false;
          this.#drain();
        });
      }
    }
  }
}

function errorOf({ kind, code, message }: Refusal): Error {
  switch (kind) {
    case "bridge":
      return new BridgeError(code, message);
    case "permission":
      return new PermissionError(message);
    case "range":
      return new RangeError(message);
    case "type":
      return new TypeError(message);
    case "error":
      return new Error(message);
  }
}
