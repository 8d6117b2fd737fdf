/** The client, in the form that the page and the runtime use it. */

import { API_VERSION, BridgeError } from "@bridge/plugin-api";

import {
  type Bridge,
  BridgeError as ClientError,
  type MethodName,
  type OperationName,
  type State,
  createBridge,
} from "../../client/src/index.js";
import type { CallOptions, Daemon } from "./daemon.js";
import type { Link } from "./model/link.js";
import { readStep } from "./model/operations.js";
import { Signal } from "./signal.js";

const KEPT_CLOSES = 5;
const EVENTS = ["log", "error", "progress", "plugins", "build", "osc"] as const;

type OperateOptions = Parameters<Link["operate"]>[2];

/** A connection to the daemon. */
export class ClientLink implements Link {
  readonly changed = new Signal();
  readonly opened = new Signal();
  readonly pushes = new Signal<{ readonly event: string; readonly data: unknown }>();
  readonly client: Bridge;
  #closes: readonly string[] = [];
  #version = "";
  #isOpen = false;

  constructor(endpoint: string, token: string) {
    const client = `plugin-bridge-client/${API_VERSION}`;
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
    for (const event of EVENTS) {
      this.client.on(event, (data: unknown) => this.pushes.emit({ event, data }));
    }
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

  has(method: MethodName): boolean {
    return this.client.supports(method);
  }

  call(method: MethodName, params: object = {}, options: CallOptions = {}): Promise<unknown> {
    // The parameters are of many places; the daemon checks them.
    return this.client.call(method, params as never, options as never);
  }

  operate(
    method: OperationName,
    params: object,
    options: OperateOptions,
  ): Promise<unknown> {
    const { ref, onProgress, ...rest } = options;
    const all = ref === undefined ? params : { ...params, ref };
    const steps = { ...rest, onProgress: (data: unknown) => onProgress(readStep(data)) };
    return this.client.operate(method, all as never, steps as never);
  }

  on(event: string, listener: (data: unknown) => void): () => void {
    return this.pushes.listen((push) => {
      if (push.event === event) {
        listener(push.data);
      }
    });
  }

  pair(token: string): void {
    // Its outcome is shown as the state.
    this.client.pair(token).catch(() => undefined);
  }

  moveTo(endpoint: string, token = ""): void {
    this.client.moveTo(endpoint, token);
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

/** The connection as the runtime, and so the plugins, see it. */
export function daemonOf(link: ClientLink): Daemon {
  return {
    pushes: link.pushes,
    opened: link.opened,
    get isOpen() {
      return link.isOpen;
    },
    async call(service, method, params, options) {
      try {
        return await link.call(`${service}/${method}` as MethodName, params, options);
      } catch (e) {
        throw e instanceof ClientError ? new BridgeError(codeOf(e), e.message) : e;
      }
    },
  };
}

// The API has documented these codes since before there was a client package.
function codeOf({ code }: ClientError): string {
  return code === "lost" || code === "pairing" ? "disconnected" : code;
}
