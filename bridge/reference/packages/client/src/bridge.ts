/** The client: one object for a connection, its calls, its events and its log. */

import { type CallOptions, Calls } from "./calls.js";
import { type Cancel, type Clock, systemClock } from "./clock.js";
import {
  Connection,
  type ConnectionOwner,
  type Pairing,
  type State,
  type StateDetails,
} from "./connection.js";
import { type Close, LostError, PairingError } from "./errors.js";
import { Listeners } from "./events.js";
import { type Fetch, isHealthy } from "./health.js";
import { type Fields, text } from "./json.js";
import { type Level, LogQueue } from "./log.js";
import { isKnownEvent } from "./methods.js";
import { type OperateOptions, type Progress, operate } from "./operations.js";
import { type Page, currentPage } from "./page.js";
import type { EventName, Events, MethodName, Params, Result } from "./protocol.js";
import { type Evaluate, answerRemote } from "./remote.js";
import type { WebSocketConstructor, Welcome } from "./socket.js";

const TRY_AGAIN_LATER = 1013;

/** The parameters, which may be left out when all of them may, and the options. */
type Arguments<Method extends MethodName, Options> =
  Record<never, never> extends Params<Method>
    ? [params?: Params<Method>, options?: Options]
    : [params: Params<Method>, options?: Options];

/** The methods that `operate` runs: those that accept a reference. */
export type OperationName = {
  [Method in MethodName]: "ref" extends keyof Params<Method> ? Method : never;
}[MethodName];

export interface BridgeOptions {
  /** Where the daemon is, such as `http://127.0.0.1:42081`. */
  readonly endpoint: string;
  /** What the page calls itself: `name/version`. */
  readonly client: string;
  /** The pairing token, when the page has one. */
  readonly token?: string | undefined;
  /** The class to use where there is no global `WebSocket`, as in Node.js 20. */
  readonly WebSocket?: WebSocketConstructor | undefined;
  readonly fetch?: Fetch | undefined;
  /** Whether the page is shown; the browser's by default. */
  readonly page?: Page | undefined;
  /** For tests. */
  readonly clock?: Clock | undefined;
}

/** Removes a listener. */
export type Off = Cancel;

export interface Bridge {
  readonly state: State;
  readonly details: StateDetails;
  readonly endpoint: string;
  /** The daemon's description of itself; `undefined` while there is no connection. */
  readonly welcome: Welcome | undefined;

  /** Whether the connected daemon has a method. */
  supports(method: string): boolean;

  /** Listen to changes of the state. */
  on(event: "state", listener: (state: State, details: StateDetails) => void): Off;
  /** Listen to events that this version of the client does not know. */
  on(event: "unknown", listener: (event: string, data: unknown) => void): Off;
  /** Listen to an event of the daemon. */
  on<Event extends EventName>(event: Event, listener: (data: Events[Event]) => void): Off;

  /**
   * Call a method.
   *
   * Without a connection it connects now, and waits 4 s for that.  A request is never
   * sent twice, except a read that was refused for rate, once.
   *
   * @throws RefusedError The daemon refused.
   * @throws LostError There is no connection, or it ended before the answer.
   * @throws TimeoutError There was no answer in time.
   * @throws PairingError The client is not paired.
   * @throws DOMException The signal was aborted: its reason.
   */
  call<Method extends MethodName>(
    method: Method,
    ...given: Arguments<Method, CallOptions>
  ): Promise<Result<Method>>;

  /**
   * Run a long operation; its outcome survives a lost connection.
   *
   * With the `ref` of an operation that the daemon knows, such as one that was begun
   * before the page was reloaded, it waits for that one.
   *
   * @throws LostError The connection was lost, and the outcome can't be known.
   * @throws DOMException The operation was cancelled, or the abort did not reach the daemon,
   *   which gets it later: the signal's reason.
   * @throws BridgeError As `call` does.
   */
  operate<Method extends OperationName>(
    method: Method,
    ...given: Arguments<Method, OperateOptions>
  ): Promise<Result<Method>>;

  /** Add a line to the daemon's log of the page. */
  log(level: Level, scope: string, message: string): void;

  /** Evaluate the snippets that developers send; replaces the function before. */
  onRemote(evaluate: Evaluate): Off;

  /**
   * Connect with another token.
   *
   * @throws PairingError The daemon does not accept it.
   * @throws LostError There is no daemon, or it does not answer; or another token or
   *   endpoint took the place of this one.
   */
  pair(token: string): Promise<Welcome>;

  /** Connect to another endpoint, which gets no token but this one, and no pending call. */
  moveTo(endpoint: string, token?: string): void;

  /** Look for the daemon now, despite any refusal. */
  retry(): void;

  /** Stop, until `pair`, `moveTo` or `retry`: nothing is sent, pending calls are rejected. */
  close(): void;
}

/**
 * Make a client, which begins to connect at once.
 *
 * @throws TypeError The endpoint is none, or there is no `WebSocket` class.
 */
export function createBridge(options: BridgeOptions): Bridge {
  return new Client(options);
}

/** Return an endpoint in its usual form: without a slash at its end. */
function readEndpoint(written: string): string {
  const { protocol, origin, pathname, search, hash } = new URL(written);
  if (!/^https?:$/.test(protocol) || pathname + search + hash !== "/") {
    throw new TypeError("endpoint: must be http://HOST:PORT");
  }
  return origin;
}

class Client implements Bridge, ConnectionOwner {
  readonly #clock: Clock;
  readonly #page: Page;
  readonly #connection: Connection;
  readonly #calls: Calls;
  readonly #log: LogQueue;
  readonly #listeners = new Listeners();
  #evaluate: Evaluate | undefined;
  #cancelLeave: Cancel | undefined;

  constructor(options: BridgeOptions) {
    const { client, token = "", WebSocket = globalThis.WebSocket } = options;
    const { fetch = (...all) => globalThis.fetch(...all) } = options;
    if (typeof WebSocket !== "function") {
      throw new TypeError("WebSocket: required where there is no global WebSocket class");
    }
    const pairing = { endpoint: readEndpoint(options.endpoint), token: token.trim(), client };
    const { clock = systemClock, page = currentPage() } = options;
    const healthy = (endpoint: string): Promise<boolean> => isHealthy(fetch, clock, endpoint);
    const surroundings = { clock, page, WebSocket, isHealthy: healthy };
    const send = (frame: string): boolean => this.#connection.send(frame);
    this.#clock = clock;
    this.#page = page;
    this.#connection = new Connection(surroundings, pairing, this);
    this.#calls = new Calls(clock, send, () => this.#connection.suspect());
    this.#log = new LogQueue(clock, send);
    this.#connection.retry();
  }

  get state(): State {
    return this.#connection.state;
  }

  get details(): StateDetails {
    return this.#connection.details;
  }

  get endpoint(): string {
    return this.#connection.pairing.endpoint;
  }

  get welcome(): Welcome | undefined {
    return this.#connection.welcome;
  }

  supports(method: string): boolean {
    return this.welcome?.methods.has(method) ?? false;
  }

  on(event: string, listener: (...values: readonly never[]) => void): Off {
    return this.#listeners.add(event, listener);
  }

  call<Method extends MethodName>(
    method: Method,
    ...[params = {}, options]: Arguments<Method, CallOptions>
  ): Promise<Result<Method>> {
    return this.#call(method, params, options) as Promise<Result<Method>>;
  }

  operate<Method extends OperationName>(
    method: Method,
    ...[params = {}, options = {}]: Arguments<Method, OperateOptions>
  ): Promise<Result<Method>> {
    const link = {
      clock: this.#clock,
      call: this.#call,
      onProgress: (listener: (progress: Progress) => void) => this.on("progress", listener),
      connected: () => this.#connected(),
    };
    return operate(link, method, params, options) as Promise<Result<Method>>;
  }

  log(level: Level, scope: string, message: string): void {
    this.#log.add(level, scope, message);
  }

  onRemote(evaluate: Evaluate): Off {
    this.#evaluate = evaluate;
    return () => {
      if (this.#evaluate === evaluate) {
        this.#evaluate = undefined;
      }
    };
  }

  pair(token: string): Promise<Welcome> {
    const pairing = { ...this.#connection.pairing, token: token.trim() };
    this.#connection.use(pairing);
    const paired = this.#settled(pairing);
    // Its outcome is the state as well, so no caller has to wait for it.
    paired.catch(() => undefined);
    return paired;
  }

  moveTo(endpoint: string, token = ""): void {
    const { client, endpoint: former } = this.#connection.pairing;
    const pairing = { endpoint: readEndpoint(endpoint), token: token.trim(), client };
    if (pairing.endpoint !== former) {
      // What waits to be sent was meant for the former daemon.
      this.#calls.giveUp(() => new LostError(false));
      this.#log.drop();
    }
    this.#connection.use(pairing);
  }

  retry(): void {
    this.#connection.retry();
  }

  close(): void {
    this.#log.flush();
    this.#connection.stop();
  }

  changed(state: State, details: StateDetails): void {
    if (state === "unpaired") {
      this.#calls.giveUp(() => new PairingError(details.reason ?? "missing"));
    } else if (state === "stopped") {
      this.#calls.giveUp(() => new LostError(false));
    }
    this.#listeners.emit("state", state, details);
  }

  opened(): void {
    this.#cancelLeave = this.#page.onLeave(() => this.#log.flush());
    this.#calls.flush();
    this.#log.flush();
  }

  received(frame: Fields): void {
    if (frame["type"] === "response") {
      this.#calls.answer(frame);
    } else if (frame["type"] === "push") {
      this.#pushed(text(frame["event"]), frame["data"]);
    }
  }

  lost(close: Close): void {
    this.#cancelLeave?.();
    this.#calls.lost(close);
    if (close.code === TRY_AGAIN_LATER && close.reason === "log_flood") {
      this.#log.drop();
    }
  }

  // A property, because operations get it as a function.
  readonly #call = (
    method: string,
    params: object,
    options: CallOptions = {},
    onSent: () => void = () => undefined,
  ): Promise<unknown> => {
    if (this.state === "stopped") {
      return Promise.reject(new LostError(false));
    }
    if (this.state === "unpaired") {
      return Promise.reject(new PairingError(this.details.reason ?? "missing"));
    }
    const answer = this.#calls.make(method, params, options, onSent);
    if (this.#calls.waiting) {
      this.#connection.hurry();
    }
    return answer;
  };

  #pushed(event: string, data: unknown): void {
    if (!isKnownEvent(event)) {
      this.#listeners.emit("unknown", event, data);
      return;
    }
    if (event === "remote" && this.#evaluate !== undefined) {
      const send = (answer: object): Promise<unknown> => this.#call("remote/result", answer);
      // The caller finds out by itself that no answer comes.
      answerRemote(data, this.#evaluate, send).catch(() => undefined);
    }
    this.#listeners.emit(event, data);
  }

  /** Wait for the outcome of the attempt that has just begun, until another replaces it. */
  #settled(pairing: Pairing): Promise<Welcome> {
    return new Promise((resolve, reject) => {
      const off = this.on("state", (state: State, { reason, close }: StateDetails) => {
        const isReplaced = this.#connection.pairing !== pairing;
        if (!isReplaced && (state === "detecting" || state === "connecting")) {
          return;
        }
        off();
        if (this.welcome !== undefined) {
          resolve(this.welcome);
        } else if (state === "unpaired") {
          reject(new PairingError(reason ?? "missing"));
        } else {
          reject(new LostError(false, close));
        }
      });
    });
  }

  /** Wait for a connection; return false when there will be none. */
  #connected(): Promise<boolean> {
    return new Promise((resolve) => {
      let off: Off = () => undefined;
      const look = (): void => {
        const over = this.state === "stopped" || this.state === "unpaired";
        if (over || this.welcome !== undefined) {
          off();
          resolve(!over);
        }
      };
      off = this.on("state", look);
      look();
    });
  }
}
