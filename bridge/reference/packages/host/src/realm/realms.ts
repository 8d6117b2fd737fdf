/** The realms of all plugins: one hidden frame, in it a worker for each. */

import { Signal } from "../signal.js";
import { FRAME } from "./bootstrap.js";
import type { Port } from "./channel.js";
import type { Position } from "./sourcemap.js";
import { Watch, type WatchParts } from "./watch.js";

const OPEN_MILLISECONDS = 30_000;
const PING_MILLISECONDS = 2_000;
const OVERTAKEN_MILLISECONDS = 4_000;

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
  readonly #parts: WatchParts;
  readonly #frames = document.createElement("div");
  #frame: Promise<Frame> | undefined;
  #watch: Watch | undefined;
  // What the frame is compared with while it does not answer.
  #other: HTMLIFrameElement | undefined;
  #starts = 0;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#frames.hidden = true;
    document.body.append(this.#frames);
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
    this.#other = undefined;
    this.#frames.replaceChildren();
    this.#frame = undefined;
  }

  #opened(): Promise<Frame> {
    this.#frame ??= this.#open();
    return this.#frame;
  }

  async #open(): Promise<Frame> {
    const port = await this.#answering(document.createElement("iframe")).catch((e: unknown) => {
      this.rebuild();
      throw e;
    });
    const failures = new Map<number, Signal<Failure>>();
    const ping = (): void => port.postMessage({ ping: 1 });
    const changed = (isSilent: boolean): void => void this.#compare(isSilent);
    const watch = new Watch(this.#parts, PING_MILLISECONDS, ping, changed);
    this.#watch = watch;
    // Only our own script has the other end; of a pong there is no failure.
    port.onmessage = ({ data }: MessageEvent<Failure & { readonly failed?: number }>): void => {
      watch.heard();
      failures.get(data.failed ?? 0)?.emit(data);
    };
    return { port, failures };
  }

  /**
   * See whether another frame answers before the one that does not.
   *
   * Browsers have both in one process: when they are only slow, or were stopped for a while,
   * the older one is the first. In WebKit, it was up to two seconds later next to a flood.
   */
  async #compare(isSilent: boolean): Promise<void> {
    this.#other?.remove();
    this.#other = undefined;
    if (isSilent) {
      const other = document.createElement("iframe");
      this.#other = other;
      await this.#answering(other).catch(() => undefined);
      this.#parts.later(OVERTAKEN_MILLISECONDS, () => {
        if (this.#other === other) {
          this.lost.emit();
        }
      });
    }
  }

  /** Make it the frame of realms; resolves to its port once it answers. */
  #answering(element: HTMLIFrameElement): Promise<MessagePort> {
    return new Promise((resolve, reject) => {
      const forget = this.#parts.later(OPEN_MILLISECONDS, () =>
        reject(new Error("this browser starts no plugins: their frame does not answer")),
      );
      element.sandbox.add("allow-scripts");
      element.srcdoc = FRAME;
      element.addEventListener("load", () => {
        const { port1: port, port2 } = new MessageChannel();
        port.onmessage = (): void => {
          forget();
          resolve(port);
        };
        // Its origin is opaque, and has no name; nothing else can be in that frame.
        element.contentWindow?.postMessage(0, "*", [port2]);
        port.postMessage({ ping: 1 });
      });
      this.#frames.append(element);
    });
  }
}
