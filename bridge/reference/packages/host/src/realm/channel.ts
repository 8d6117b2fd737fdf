import { Bucket } from "../bucket.js";
import { readMessage } from "./reading.js";
import { type FromRealm, LIMITS, type ToRealm } from "./wire.js";

/** As much of a `MessagePort` as the page uses. */
export interface Port {
  postMessage(text: string): void;
  close(): void;
  onmessage: ((event: MessageEvent) => void) | null;
}

/** The page's end of the port of one realm. */
export class Channel {
  readonly #port: Port;
  readonly #messages: Bucket;
  readonly #characters: Bucket;
  #isOpen = true;

  /**
   * @param heard Called with each message, which was checked by itself; what it throws
   *   is a breach, too.
   * @param broken Called once, with a sentence, when the realm has sent what it may not;
   *   the port is closed then.
   */
  constructor(
    port: Port,
    now: () => number,
    heard: (message: FromRealm) => void,
    broken: (why: string) => void,
  ) {
    this.#port = port;
    this.#messages = new Bucket(LIMITS.messages, now);
    this.#characters = new Bucket(LIMITS.characters, now);
    port.onmessage = ({ data }): void => {
      if (!this.#isOpen) {
        return;
      }
      try {
        heard(this.#read(data));
      } catch (e) {
        this.close();
        broken(e instanceof Error ? e.message : String(e));
      }
    };
  }

  post(message: ToRealm): void {
    if (this.#isOpen) {
      this.#port.postMessage(JSON.stringify(message));
    }
  }

  /** Nothing is heard any more, also of what is on its way. */
  close(): void {
    this.#isOpen = false;
    this.#port.close();
  }

  #read(data: unknown): FromRealm {
    const size = typeof data === "string" ? data.length : LIMITS.message;
    if (!this.#messages.take() || !this.#characters.take(size)) {
      throw new RangeError("the plugin sent more than its share");
    }
    return readMessage(data);
  }
}
