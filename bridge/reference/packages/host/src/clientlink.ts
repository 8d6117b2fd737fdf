/** The client, in the form that the page and the runtime use it. */

import { API_VERSION, BridgeError } from "@bridge/plugin-api";

import {
  type Bridge,
  BridgeError as ClientError,
  type CallOptions,
  type EventName,
  type Events,
  type MethodName,
  type OperateOptions,
  type OperationName,
  type Params,
  type Result,
  type State,
  createBridge,
} from "../../client/src/index.js";
import { type Link, UnansweredError } from "./link.js";
import { Signal } from "./signal.js";

const KEPT_CLOSES = 5;

/** A connection to the daemon. */
export class ClientLink implements Link {
  readonly changed = new Signal();
  readonly opened = new Signal();
  readonly client: Bridge;
  token: string;
  #closes: readonly string[] = [];
  #version = "";
  #isOpen = false;

  constructor(endpoint: string, token: string) {
    const client = `plugin-bridge-client/${API_VERSION}`;
    this.token = token;
    this.client = createBridge({ endpoint, token, client });
    this.client.on("state", (_, { close }) => {
      if (close !== undefined) {
        const words = `${new Date().toISOString()} ${close.code} ${close.reason}`.trim();
        this.#closes = [words, ...this.#closes].slice(0, KEPT_CLOSES);
      }
      this.#version = this.client.welcome?.version ?? this.#version;
      this.#noteOpen();
      this.changed.emit();
    });
  }

  get state(): State {
    return this.client.state;
  }

  get reason(): string {
    return this.client.details.reason ?? "";
  }

  get endpoint(): string {
    return this.client.endpoint;
  }

  get version(): string {
    return this.#version;
  }

  get closes(): readonly string[] {
    return this.#closes;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  call<Method extends MethodName>(
    method: Method,
    params?: Params<Method>,
    options?: CallOptions,
  ): Promise<Result<Method>> {
    return withOwnErrors(this.client.call(method, params as never, options as never));
  }

  operate<Method extends OperationName>(
    method: Method,
    params: Params<Method>,
    options: OperateOptions,
  ): Promise<Result<Method>> {
    return withOwnErrors(this.client.operate(method, params as never, options as never));
  }

  on<Event extends EventName>(event: Event, listener: (data: Events[Event]) => void): () => void {
    return this.client.on(event, listener);
  }

  pair(token: string): void {
    this.token = token;
    // Its outcome is shown as the state.
    this.client.pair(token).catch(() => undefined);
  }

  retry(): void {
    this.client.retry();
  }

  // A daemon that did not answer for a while is still the one that accepted this page.
  #noteOpen(): void {
    const isOpen = this.state === "connected" || (this.#isOpen && this.state === "stalled");
    const opened = isOpen && !this.#isOpen;
    this.#isOpen = isOpen;
    if (opened) {
      this.opened.emit();
    }
  }
}

/** Reject with errors of the plugin API, whose codes are older than the client's. */
async function withOwnErrors<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (e) {
    if (!(e instanceof ClientError)) {
      throw e;
    }
    const isGone = e.code === "lost" || e.code === "pairing";
    const Own = "sent" in e && e.sent ? UnansweredError : BridgeError;
    throw new Own(isGone ? "disconnected" : e.code, e.message);
  }
}
