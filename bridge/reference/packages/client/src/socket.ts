/** One WebSocket to the daemon: it sends `hello`, is accepted or refused, and ends once. */

import type { Close } from "./errors.js";
import { type Fields, fields, list, parsed, text } from "./json.js";

/** The part of a WebSocket the client uses. */
export interface WebSocketLike {
  send(text: string): void;
  close(): void;
  addEventListener(
    type: "open" | "message" | "close" | "error",
    listener: (event: unknown) => void,
  ): void;
}

/** The browser's `WebSocket`, or a compatible class. */
export type WebSocketConstructor = new (url: string) => WebSocketLike;

/** The daemon's description of itself. */
export interface Welcome {
  /** The version of the daemon. */
  readonly version: string;
  /** The version of its protocol; `1.0` when it names none. */
  readonly protocol: string;
  /** The methods it has, as `service/method`. */
  readonly methods: ReadonlySet<string>;
  /** What each service reports of itself, by name. */
  readonly services: Fields;
}

/** The owner of a socket. */
export interface SocketOwner {
  welcomed(welcome: Welcome): void;
  /** A frame came after `welcome`; its `type` may be any. */
  received(frame: Fields): void;
  closed(close: Close): void;
}

/** What a socket reports that ended without a close frame. */
export const ABNORMAL: Close = { code: 1006, reason: "" };

/** The address of the socket of the daemon at `endpoint`. */
function socketUrl(endpoint: string): string {
  return `${endpoint.replace(/^http/, "ws")}/v1/ws`;
}

export class Socket {
  readonly #socket: WebSocketLike;
  #owner: SocketOwner | undefined;
  #welcomed = false;

  /**
   * @param hello The `hello` frame's fields.
   * @throws Error The constructor refuses the address.
   */
  constructor(
    make: WebSocketConstructor,
    endpoint: string,
    hello: { readonly token: string; readonly client: string },
    owner: SocketOwner,
  ) {
    this.#owner = owner;
    this.#socket = new make(socketUrl(endpoint));
    this.#socket.addEventListener("open", () => {
      if (this.#owner !== undefined) {
        this.#socket.send(JSON.stringify({ type: "hello", ...hello }));
      }
    });
    this.#socket.addEventListener("message", (event) => this.#receive(event));
    // Always followed by `close`; without a listener some libraries throw it.
    this.#socket.addEventListener("error", () => undefined);
    this.#socket.addEventListener("close", (event) => {
      const { code, reason } = event as Fields;
      const number = typeof code === "number" ? code : ABNORMAL.code;
      this.#end()?.closed({ code: number, reason: text(reason) });
    });
  }

  /** Send a frame, after `welcome`. */
  send(frame: string): void {
    this.#socket.send(frame);
  }

  /** Close it; the owner hears of it no more. */
  abandon(): void {
    this.#end();
    this.#socket.close();
  }

  #end(): SocketOwner | undefined {
    const owner = this.#owner;
    this.#owner = undefined;
    return owner;
  }

  #receive(event: unknown): void {
    const frame = fields(parsed(text((event as Fields)["data"])));
    if (frame["type"] === "welcome") {
      if (!this.#welcomed) {
        this.#welcomed = true;
        this.#owner?.welcomed(readWelcome(frame));
      }
    } else if (this.#welcomed) {
      this.#owner?.received(frame);
    }
  }
}

function readWelcome(frame: Fields): Welcome {
  const services = fields(frame["services"]);
  const methods = Object.entries(services).flatMap(([service, about]) =>
    list(fields(about)["methods"]).map((method) => `${service}/${text(method)}`),
  );
  return {
    version: text(frame["version"], "unknown"),
    protocol: text(frame["protocol"], "1.0"),
    methods: new Set(methods),
    services,
  };
}
