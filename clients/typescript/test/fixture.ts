/** What a test controls: the clock, the network, the daemon's end of sockets, the page. */

import assert from "node:assert/strict";

import {
  type Bridge,
  type BridgeOptions,
  type Cancel,
  type Clock,
  type Page,
  type State,
  type WebSocketLike,
  createBridge,
} from "../../../bridge/reference/packages/client/src/index.js";
import { FakeEnvironment, settle } from "./fakeenvironment.js";

export { failure, settle } from "./fakeenvironment.js";

export const ENDPOINT = "http://127.0.0.1:42081";

export const METHODS = ["cancel", "install", "list", "operations", "preview", "update"];

type Frame = { readonly [name: string]: unknown };

/** The daemon's end of a WebSocket. */
export class FakeSocket implements WebSocketLike {
  readonly sent: Frame[] = [];
  closedByClient = false;
  readonly #listeners = new Map<string, (event: unknown) => void>();

  constructor(readonly url: string) {}

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Frame);
  }

  close(): void {
    this.closedByClient = true;
  }

  addEventListener(type: string, listener: (event: unknown) => void): void {
    this.#listeners.set(type, listener);
  }

  open(): void {
    this.#listeners.get("open")?.({});
  }

  receive(frame: unknown): void {
    this.receiveText(JSON.stringify(frame));
  }

  receiveText(data: unknown): void {
    this.#listeners.get("message")?.({ data });
  }

  welcome(more: object = {}): void {
    this.open();
    const services = { plugins: { methods: METHODS }, state: { methods: ["get"] } };
    this.receive({ type: "welcome", version: "1.2.3", services, ...more });
  }

  push(event: string, data: unknown): void {
    this.receive({ type: "push", event, data });
  }

  drop(code = 1006, reason = ""): void {
    this.#listeners.get("close")?.({ code, reason });
  }

  of(type: string): readonly Frame[] {
    return this.sent.filter((frame) => frame["type"] === type);
  }

  get requests(): readonly Frame[] {
    return this.of("request");
  }

  get request(): Frame {
    const newest = this.requests.at(-1);
    assert.ok(newest !== undefined, "nothing was requested");
    return newest;
  }

  answer(result: unknown, request: Frame = this.request): void {
    this.receive({ type: "response", id: request["id"], ok: true, result });
  }

  /** Refuse the newest request. */
  refuse(code: string, message: string, more: object = {}): void {
    const error = { code, message, ...more };
    this.receive({ type: "response", id: this.request["id"], ok: false, error });
  }
}

export class Fixture extends FakeEnvironment implements Clock, Page {
  readonly sockets: FakeSocket[] = [];
  /** When health was asked for. */
  readonly probes: number[] = [];
  /** How health is answered: with this, or never. */
  health: unknown = { ok: true };
  frozen = false;
  /** 0.5 is no jitter. */
  chance = 0.5;
  readonly states: State[] = [];
  #hidden = false;
  readonly #visibility = new Set<() => void>();
  readonly #leave = new Set<() => void>();

  override readonly date = (): number => 1_000_000 + this.now();

  random(): number {
    return this.chance;
  }

  get hidden(): boolean {
    return this.#hidden;
  }

  set hidden(hidden: boolean) {
    this.#hidden = hidden;
    this.#visibility.forEach((listener) => listener());
  }

  onVisibility(listener: () => void): Cancel {
    this.#visibility.add(listener);
    return () => this.#visibility.delete(listener);
  }

  onLeave(listener: () => void): Cancel {
    this.#leave.add(listener);
    return () => this.#leave.delete(listener);
  }

  leave(): void {
    this.#leave.forEach((listener) => listener());
  }

  /** How many listeners of the page are left. */
  get listening(): number {
    return this.#visibility.size + this.#leave.size;
  }

  get socket(): FakeSocket {
    const newest = this.sockets.at(-1);
    assert.ok(newest !== undefined, "no socket was opened");
    return newest;
  }

  /** Make a client in this fixture. */
  async bridge(options: Partial<BridgeOptions> = {}): Promise<Bridge> {
    const { sockets } = this;
    class WebSocket extends FakeSocket {
      constructor(url: string) {
        super(url);
        sockets.push(this);
      }
    }
    const fetch = (url: string, { signal }: RequestInit): Promise<Response> => {
      assert.equal(new URL(url).pathname, "/v1/health");
      this.probes.push(this.now());
      if (this.frozen) {
        return new Promise((_, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason as Error));
        });
      }
      return this.health === undefined
        ? Promise.reject(new TypeError("refused"))
        : Promise.resolve(Response.json(this.health));
    };
    const bridge = createBridge({
      endpoint: ENDPOINT,
      client: "test/1.0.0",
      token: "secret",
      WebSocket,
      fetch,
      page: this,
      clock: this,
      ...options,
    });
    this.states.push(bridge.state);
    bridge.on("state", (state) => this.states.push(state));
    await settle();
    return bridge;
  }
}

/** A client, and the fixture of its own that it is in. */
interface Made {
  readonly fixture: Fixture;
  readonly bridge: Bridge;
}

/** Make a client that has begun to connect, in these circumstances. */
export async function begun(
  circumstances: Partial<Pick<Fixture, "health" | "frozen" | "chance">> = {},
  options: Partial<BridgeOptions> = {},
): Promise<Made> {
  const fixture = Object.assign(new Fixture(), circumstances);
  return { fixture, bridge: await fixture.bridge(options) };
}

/** Make a client that is connected. */
export async function connected(): Promise<Made> {
  const made = await begun();
  made.fixture.socket.welcome();
  await settle();
  return made;
}
