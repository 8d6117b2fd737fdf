import { API_VERSION } from "@bridge/plugin-api";

import type { Environment, Wire, WireEvents } from "./environment.js";
import { fields, parsed, text } from "./wire.js";

/** The daemon's description of itself in `welcome`. */
export interface Welcome {
  readonly version: string;
  readonly services: readonly string[];
}

/** The owner of a socket. */
export interface SocketOwner {
  welcomed(welcome: Welcome): void;
  answered(frame: unknown): void;
  pushed(event: string, data: unknown): void;
  closed(code: number, reason: string): void;
}

/** The address of the socket of the daemon at `endpoint`. */
export function socketUrl(endpoint: string): string {
  return `${endpoint.replace(/^http/, "ws")}/v1/ws`;
}

/** One connection: it sends `hello`, is accepted or refused, and ends once. */
export class BridgeSocket implements WireEvents {
  readonly #token: string;
  readonly #wire: Wire;
  #owner: SocketOwner | undefined;
  #welcomed = false;

  constructor(
    open: Environment["open"],
    endpoint: string,
    token: string,
    owner: SocketOwner,
  ) {
    this.#token = token;
    this.#owner = owner;
    this.#wire = open(socketUrl(endpoint), this);
  }

  /** Whether frames may be sent. */
  get welcomed(): boolean {
    return this.#welcomed;
  }

  send(frame: string): void {
    this.#wire.send(frame);
  }

  /** Close it; the owner gets no more calls. */
  abandon(): void {
    this.#owner = undefined;
    this.#welcomed = false;
    this.#wire.close();
  }

  opened(): void {
    const client = `plugin-bridge-client/${API_VERSION}`;
    this.#wire.send(JSON.stringify({ type: "hello", token: this.#token, client }));
  }

  received(data: unknown): void {
    const frame = fields(parsed(text(data)));
    switch (frame["type"]) {
      case "welcome":
        this.#welcomed = true;
        this.#owner?.welcomed({
          version: text(frame["version"], "unknown"),
          services: Object.keys(fields(frame["services"])),
        });
        break;
      case "response":
        this.#owner?.answered(frame);
        break;
      case "push":
        this.#owner?.pushed(text(frame["event"]), frame["data"]);
        break;
    }
  }

  closed(code: number, reason: string): void {
    this.#welcomed = false;
    this.#owner?.closed(code, reason);
  }
}
