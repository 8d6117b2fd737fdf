/** The realms of all plugins: one hidden frame, in it a worker for each. */

import type { Environment } from "../environment.js";
import { Signal } from "../signal.js";
import { FRAME } from "./bootstrap.js";
import type { Port } from "./channel.js";
import type { Position } from "./sourcemap.js";
import { Watch, type WatchParts } from "./watch.js";

const OPEN_MILLISECONDS = 10_000;
const PING_MILLISECONDS = 2_000;

/** What a worker's browser reports of its script. */
export interface Failure extends Position {
  readonly message: string;
}

/** A worker that was started. */
export interface RealmPort {
  readonly port: Port;
  readonly failed: Signal<Failure>;
  /** End the worker. The port has to be closed before: the end may take seconds. */
  end(): void;
}

/** Starts realms. */
export interface Realms {
  /** Start a script in a realm of its own; rejects when the browser starts none. */
  start(script: string): Promise<RealmPort>;
  /** Every realm has ended; none answers any more. */
  readonly lost: Signal;
  /** Remove the frame, and with it whatever runs in it; the next start makes another. */
  rebuild(): void;
}

interface Frame {
  readonly port: MessagePort;
  readonly failures: Map<number, Signal<Failure>>;
}

/** The realms of a real page. */
export class FrameRealms implements Realms {
  readonly lost = new Signal();
  readonly #parts: WatchParts & Pick<Environment, "later">;
  #frame: Promise<Frame> | undefined;
  #element: HTMLIFrameElement | undefined;
  #watch: Watch | undefined;
  #starts = 0;

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /** Make the frame, which takes the browser a while, before the first start needs it. */
  prepare(): void {
    // What is wrong with it, the first start reports.
    this.#opened().catch(() => undefined);
  }

  async start(script: string): Promise<RealmPort> {
    const { port, failures } = await this.#opened();
    this.#starts += 1;
    const start = this.#starts;
    const failed = new Signal<Failure>();
    failures.set(start, failed);
    const { port1, port2 } = new MessageChannel();
    port.postMessage({ start, text: script, port: port2 }, [port2]);
    return {
      port: port1,
      failed,
      end: () => {
        failures.delete(start);
        port.postMessage({ stop: start });
      },
    };
  }

  rebuild(): void {
    this.#watch?.end();
    this.#element?.remove();
    this.#frame = undefined;
  }

  #opened(): Promise<Frame> {
    this.#frame ??= this.#open();
    return this.#frame;
  }

  async #open(): Promise<Frame> {
    const element = document.createElement("iframe");
    this.#element = element;
    element.sandbox.add("allow-scripts");
    element.srcdoc = FRAME;
    element.hidden = true;
    element.ariaHidden = "true";
    const loaded = new Promise((resolve) => element.addEventListener("load", resolve));
    document.body.append(element);
    await loaded;
    const { port1: port, port2 } = new MessageChannel();
    // Its origin is opaque, and has no name; nothing else can be in that frame.
    element.contentWindow?.postMessage(0, "*", [port2]);
    const failures = new Map<number, Signal<Failure>>();
    const ping = (): void => port.postMessage({ ping: 1 });
    await new Promise<void>((resolve, reject) => {
      const forget = this.#parts.later(OPEN_MILLISECONDS, () => {
        this.rebuild();
        reject(new Error("this browser starts no plugins: their frame does not answer"));
      });
      port.onmessage = (): void => {
        forget();
        resolve();
      };
      ping();
    });
    const watch = new Watch(this.#parts, PING_MILLISECONDS, ping, () => {
      watch.end();
      this.lost.emit();
    });
    this.#watch = watch;
    // Only our own script has the other end; of a pong there is no failure.
    port.onmessage = ({ data }: MessageEvent<Failure & { readonly failed?: number }>): void => {
      watch.heard();
      failures.get(data.failed ?? 0)?.emit(data);
    };
    return { port, failures };
  }
}
