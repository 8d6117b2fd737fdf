/** The runtime in a plugin's realm: it runs the plugin, and speaks to the page for it. */

import type { Context, Logger, Plugin } from "@bridge/plugin-api";

import { describe } from "../../../api/src/describe.js";
import { readSchema } from "../../../api/src/schemarules.js";
import type { Environment } from "../environment.js";
import { fields } from "../wire.js";
import { type RealmContext, makeContext } from "./context.js";
import { Recorder } from "./recorder.js";
import { Sender } from "./sender.js";
import { type FromRealm, PACE, type Thrown, type ToRealm } from "./wire.js";

// Until the page is heard again, as it is by a ping every two seconds: as many lines as its log takes.
const MOST_FAILURES = 100;

type Phase = Extract<FromRealm, { readonly t: "failed" }>["during"];

/** Runs one plugin. */
export class Realm {
  readonly #load: (logger: Logger) => unknown;
  readonly #environment: Environment;
  readonly #sender: Sender;
  readonly #recorder: Recorder;
  #plugin: Plugin | undefined;
  #failures = 0;
  #made: RealmContext | undefined;

  /**
   * @param post Send a text to the page.
   * @param load Run the plugin's text; returns what it exports by default.
   */
  constructor(
    post: (text: string) => void,
    load: (logger: Logger) => unknown,
    environment: Environment,
  ) {
    this.#load = load;
    this.#environment = environment;
    this.#sender = new Sender(post, environment);
    this.#recorder = new Recorder(
      (change) => this.#sender.change(change),
      (what, error) => this.failed("callback", error, what),
    );
  }

  /** The page has sent a text. */
  receive(text: string): void {
    const message = JSON.parse(text) as ToRealm;
    this.#failures = 0;
    switch (message.t) {
      case "init":
        return this.#attempt("load", () => this.#loaded(message));
      case "activate":
        return void this.#activate();
      case "stop":
        return void this.#stop();
      case "drawn":
        return this.#sender.drawn();
      case "answer":
        return this.#sender.answer(message.n, message);
      case "event":
        this.#recorder.event(message.ref, message.value);
        return this.#sender.send({ t: "done", event: message.event });
      case "settings":
        return this.#made?.settings.replace(message.settings);
      case "osc":
        for (const { listener, message: received } of message.messages) {
          this.#made?.received(listener, received);
        }
        return this.#sender.send({ t: "done", event: message.event });
      case "ping":
        return this.#sender.send({ t: "pong", n: message.n });
    }
  }

  /**
   * Something that the plugin did has failed.
   *
   * @param what What it was, when it was none of its own functions.
   */
  failed(during: Phase, error: unknown, what = ""): void {
    if (during === "callback") {
      this.#failures += 1;
      if (this.#failures > MOST_FAILURES) {
        return;
      }
    }
    const name = what.slice(0, 300);
    const message = { t: "failed", during, what: name, error: thrownOf(error) } as const;
    if (during === "load" || during === "activate") {
      this.#sender.sendLast(message);
    } else {
      this.#sender.send(message);
    }
  }

  #loaded({ id, settings }: Extract<ToRealm, { readonly t: "init" }>): void {
    this.#made = makeContext(id, settings, this.#sender, this.#recorder, this.#environment);
    const exported = this.#load(this.#made.context.logger);
    const { id: own, activate, settings: declared } = fields(exported);
    if (own !== id || typeof activate !== "function") {
      throw new Error("main.ts exports no plugin with the manifest's id and activate");
    }
    this.#plugin = exported as Plugin;
    this.#made.settings.declare(readSchema(declared));
    this.#sender.send({ t: "loaded", id, schema: (declared ?? null) as never });
  }

  async #activate(): Promise<void> {
    try {
      await this.#plugin?.activate(this.#made?.context as Context);
      this.#sender.send({ t: "activated" });
    } catch (e) {
      this.failed("activate", e);
    }
  }

  async #stop(): Promise<void> {
    try {
      await this.#plugin?.deactivate?.();
    } catch (e) {
      this.failed("stop", e);
    }
    await this.#made?.settings.written();
    this.#sender.flush();
    this.#sender.send({ t: "stopped" });
  }

  #attempt(during: Phase, work: () => void): void {
    try {
      work();
    } catch (e) {
      this.failed(during, e);
    }
  }
}

function thrownOf(error: unknown): Thrown {
  const most = PACE.errorCharacters;
  try {
    if (error instanceof Error) {
      return {
        name: String(error.name).slice(0, most),
        message: String(error.message).slice(0, most),
        stack: String(error.stack).slice(0, most),
      };
    }
  } catch {
    // Its properties throw.
  }
  return { name: "", message: describe(error).slice(0, most), stack: "" };
}
