import type { Json, Logger, Ui } from "@bridge/plugin-api";

import { type Schema, readSchema } from "../../api/src/schemarules.js";
import type { Environment } from "./environment.js";
import type { Manifest } from "./manifest.js";
import type { OscHub } from "./osc.js";
import type { Painting } from "./painting.js";
import type { PageSettings } from "./pagesettings.js";
import type { Gate } from "./permissions.js";
import { Channel } from "./realm/channel.js";
import { Drawings } from "./realm/drawing.js";
import { Events } from "./realm/events.js";
import { check } from "./realm/reading.js";
import type { RealmPort, Realms } from "./realm/realms.js";
import type { Script } from "./realm/script.js";
import { Services, refusalOf } from "./realm/services.js";
import { Watch } from "./realm/watch.js";
import { type Change, type FromRealm, LIMITS } from "./realm/wire.js";
import { Signal } from "./signal.js";
import type { PluginCaller } from "./turns.js";

const LOAD_MILLISECONDS = 30_000;
const STOP_MILLISECONDS = 1_000;
const PING_MILLISECONDS = 5_000;
/** What takes as long to draw is followed by a pause that is as long: half of a frame. */
const SHORT_MILLISECONDS = 8;

/** Where a plugin shows things, until it is removed. */
export interface Place {
  readonly ui: Ui;
  /** Remove what the plugin shows. */
  remove(): void;
}

/** What a plugin's instance is made of; all but the realms is its own. */
export interface InstanceParts {
  readonly manifest: Manifest;
  readonly script: Script;
  readonly realms: Realms;
  readonly settings: PageSettings;
  readonly caller: PluginCaller;
  readonly gate: Gate;
  readonly hub: OscHub;
  readonly place: Place;
  readonly logger: Logger;
  readonly environment: Pick<Environment, "later" | "now">;
  readonly painting: Painting;
  readonly isVisible: () => boolean;
}

/** A plugin that was started, from the page's side: its realm and all that it holds. */
export class Instance {
  readonly settings: PageSettings;
  /** It ended by itself, and everything of it was closed; the value is the reason. */
  readonly ended = new Signal<string>();
  /** It stopped answering, or answers again; or its settings are others. */
  readonly changed = new Signal();
  readonly #parts: InstanceParts;
  readonly #events: Events;
  readonly #services: Services;
  readonly #drawings: Drawings;
  #schema: Schema | undefined;
  #realm: RealmPort | undefined;
  #channel: Channel | undefined;
  #watch: Watch | undefined;
  #waiting: Waiting | undefined;
  #isClosed = false;
  #isDrawing = false;
  #stopBy = Infinity;
  /** The numbers of calls that were not answered. */
  readonly #open = new Set<number>();

  constructor(parts: InstanceParts) {
    const { settings, caller, gate, hub, place } = parts;
    this.#parts = parts;
    this.settings = settings;
    this.#events = new Events((message) => this.#channel?.post(message));
    this.#services = new Services(settings, caller, gate, hub, this.#events);
    this.#drawings = new Drawings(place.ui, (ref, value) => this.#events.send(ref, value));
    settings.onChange(() => {
      this.#channel?.post({ t: "settings", settings: settings.all });
      this.changed.emit();
    });
  }

  /** What the plugin declares as its settings; `undefined` before it was loaded. */
  get schema(): Schema | undefined {
    return this.#schema;
  }

  /** Whether it does not answer, for a while. */
  get isSilent(): boolean {
    return this.#watch?.isSilent === true;
  }

  /** Start its realm, and load it there; rejects with the reason, and closes it. */
  async load(): Promise<void> {
    const { realms, script, environment, manifest, settings, isVisible } = this.#parts;
    const loaded = this.#await("loaded");
    if (this.#isClosed) {
      // It was switched off while it waited for its turn.
      return loaded;
    }
    const forget = environment.later(LOAD_MILLISECONDS, () => this.#fail("it did not load in time"));
    realms.start(script.text).then(
      (realm) => {
        if (this.#isClosed) {
          realm.port.close();
          realm.end();
          return;
        }
        this.#realm = realm;
        // Its worker has ended, by what its runtime did not catch.
        realm.failed.listen(({ message, ...at }) => this.#end(script.describeEvent(message, at)));
        const channel = new Channel(
          realm.port,
          environment.now,
          (message) => this.#hear(message),
          (why) => this.#end(why),
        );
        this.#channel = channel;
        const ping = (): void => channel.post({ t: "ping", n: 1 });
        const changed = (isSilent: boolean): void => {
          if (isSilent) {
            this.#parts.logger.warn("it doesn't answer");
          }
          this.changed.emit();
        };
        const watched = { later: environment.later, isVisible };
        this.#watch = new Watch(watched, PING_MILLISECONDS, ping, changed);
        channel.post({ t: "init", id: manifest.id, settings: settings.all });
      },
      (e: Error) => this.#fail(e.message),
    );
    await loaded.finally(forget);
  }

  /** Activate it; resolves when that has ended, which may be never. */
  activate(): Promise<void> {
    const activated = this.#await("activated");
    this.#channel?.post({ t: "activate" });
    return activated;
  }

  /** Let it end what it does, for a second, and close it. */
  async stop(): Promise<void> {
    if (this.#schema !== undefined && !this.#isClosed) {
      const stopped = this.#await("stopped");
      const { environment } = this.#parts;
      this.#stopBy = environment.now() + STOP_MILLISECONDS;
      const forget = environment.later(STOP_MILLISECONDS, () => this.#stopped());
      this.#channel?.post({ t: "stop" });
      await stopped.catch(() => undefined).finally(forget);
    }
    this.close();
  }

  #stopped(): void {
    this.#parts.logger.error("failed to stop: it took over a second");
    this.close();
  }

  /** The user revoked a permission: end what runs on with it. */
  revoked(permission: string): void {
    if (permission === "osc") {
      this.#services.silence();
    }
  }

  /** End everything that the plugin is and has, at once. */
  close(): void {
    if (this.#isClosed) {
      return;
    }
    this.#isClosed = true;
    this.#watch?.end();
    // The port first: the worker may take seconds to end.
    this.#channel?.close();
    this.#realm?.end();
    this.#parts.gate.close();
    this.#parts.caller.close();
    this.#services.silence();
    this.#parts.place.remove();
    this.#giveUp();
  }

  #giveUp(): void {
    this.#waiting?.reject(new Error("it was switched off"));
  }

  /** Wait for a message; what the page waited for before is not waited for any more. */
  #await(t: Waiting["t"]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#giveUp();
      this.#waiting = { t, resolve, reject };
      if (this.#isClosed) {
        this.#giveUp();
      }
    });
  }

  /** What the page waits for will not come. */
  #fail(why: string): void {
    this.#waiting?.reject(new Error(why));
    this.#waiting = undefined;
    this.close();
  }

  /** The plugin itself ended it. */
  #end(why: string): void {
    const isStarting = this.#waiting !== undefined;
    this.#fail(why);
    if (!isStarting) {
      this.ended.emit(why);
    }
  }

  #hear(message: FromRealm): void {
    this.#watch?.heard();
    switch (message.t) {
      case "loaded":
        this.#schema = readSchema(message.schema ?? undefined);
        this.settings.declare(this.#schema);
        this.#settle("loaded");
        break;
      case "activated":
        // A plugin that was switched off while it started is not waited for.
        if (this.#waiting?.t !== "stopped") {
          this.#settle("activated");
        }
        break;
      case "stopped":
        this.#settle("stopped");
        break;
      case "failed":
        this.#failed(message);
        break;
      case "batch":
        this.#draw(message.changes);
        break;
      case "call":
        const places = LIMITS.unanswered + (message.name === "settings.set" ? 1 : 0);
        const isNew = !this.#open.has(message.n) && this.#open.size < places;
        check(isNew, "few calls, each once");
        void this.#serve(message);
        break;
      case "done":
        this.#events.done(message.event);
        break;
      case "pong":
        break;
    }
  }

  #settle(t: Waiting["t"]): void {
    check(this.#waiting?.t === t, "an answer to a question");
    this.#waiting.resolve();
    this.#waiting = undefined;
  }

  #failed({ during, what, error }: Extract<FromRealm, { readonly t: "failed" }>): void {
    const words = this.#parts.script.describe(error);
    const isAwaited =
      (during === "load" && this.#waiting?.t === "loaded") ||
      (during === "activate" && this.#waiting?.t === "activated");
    if (isAwaited) {
      this.#fail(words);
    } else if (during === "stop") {
      this.#parts.logger.error(`failed to stop: ${words}`);
    } else {
      this.#parts.logger.error(what === "" ? words : `${what} failed: ${words}`);
    }
  }

  /** Draw a batch, and let the next come when all others have had as much time. */
  #draw(changes: readonly Change[]): void {
    const { environment, painting } = this.#parts;
    if (environment.now() > this.#stopBy) {
      // What it still sends would keep the timer from its turn.
      this.#stopped();
      return;
    }
    // One that ends sends all that it still has.
    check(!this.#isDrawing || this.#waiting?.t === "stopped", "a batch when the last was drawn");
    const drawn = changes.flatMap((change) => (change.op === "draw" ? change.ref : []));
    check(new Set(drawn).size === drawn.length, "each part drawn once in a batch");
    this.#isDrawing = true;
    const next = (): void => {
      this.#isDrawing = false;
      this.#channel?.post({ t: "drawn" });
    };
    painting.run(
      () => changes.forEach((change) => this.#apply(change)),
      (took) => void (took < SHORT_MILLISECONDS ? next() : environment.later(took, next)),
    );
  }

  #apply(change: Change): void {
    if (change.op === "log") {
      this.#parts.logger[change.level](change.text);
    } else {
      this.#drawings.apply(change);
    }
  }

  async #serve({ n, name, args }: Extract<FromRealm, { readonly t: "call" }>): Promise<void> {
    this.#open.add(n);
    try {
      const ok = ((await this.#services.call(name, args)) ?? null) as Json;
      this.#open.delete(n);
      this.#channel?.post({ t: "answer", n, ok });
    } catch (e) {
      this.#open.delete(n);
      this.#channel?.post({ t: "answer", n, error: refusalOf(e) });
    }
  }
}

/** What the page waits for. */
interface Waiting {
  readonly t: "loaded" | "activated" | "stopped";
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}
