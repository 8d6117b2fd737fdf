/**
 * The connection to the daemon: find it, connect, and connect again.
 *
 * ::
 *
 *     detecting -> absent | unpaired | connecting -> connected <-> stalled
 *         ^          |                    |              |
 *         +----------+---- waiting <------+--------------+
 */

import { type Cancel, type Clock, atDeadline } from "./clock.js";
import type { Close, PairingReason } from "./errors.js";
import type { Fields } from "./json.js";
import { Liveness } from "./liveness.js";
import { retryAfter } from "./methods.js";
import type { Page } from "./page.js";
import {
  ABNORMAL,
  Socket,
  type SocketOwner,
  type WebSocketConstructor,
  type Welcome,
} from "./socket.js";

const RETRY_MILLISECONDS = [1_000, 2_000, 5_000, 15_000, 30_000] as const;
const JITTER = 0.2;
const CONNECT_MILLISECONDS = 6_000;
// A connection that ends sooner has not worked: the waits go on growing.
const STEADY_MILLISECONDS = 10_000;
const OVERLOADED_MILLISECONDS = 5_000;

// The daemon closes with it only to refuse a hello; asking again would seldom help.
const POLICY = 1008;
const TRY_AGAIN_LATER = 1013;
const ROTATED = "token_rotated";

/**
 * - `stopped`: by `close`.
 * - `detecting`: looking for the daemon.
 * - `absent`: no daemon answers; looked for again later.
 * - `unpaired`: there is a daemon, but no token that it accepts.
 * - `connecting`: a socket is opened.
 * - `connected`: calls are answered.
 * - `waiting`: the connection was lost; connects again later.
 * - `stalled`: connected, but the daemon does not answer.
 */
export type State =
  | "stopped"
  | "detecting"
  | "absent"
  | "unpaired"
  | "connecting"
  | "connected"
  | "waiting"
  | "stalled";

/** What is known of a state. */
export interface StateDetails {
  /** Of `unpaired`: why. */
  readonly reason?: PairingReason;
  /** Of `waiting`, and of `unpaired` after a connection: how the last socket closed. */
  readonly close?: Close;
  /** Of `absent` and `waiting`: how many milliseconds until it looks again. */
  readonly retryInMs?: number;
}

/** What a connection needs of its surroundings. */
export interface Surroundings {
  readonly clock: Clock;
  readonly page: Page;
  readonly WebSocket: WebSocketConstructor;
  /** Return whether the daemon at an endpoint answers. */
  readonly isHealthy: (endpoint: string) => Promise<boolean>;
}

export interface ConnectionOwner {
  changed(state: State, details: StateDetails): void;
  /** Frames may be sent. */
  opened(welcome: Welcome): void;
  received(frame: Fields): void;
  /** A connection that was open has ended. */
  lost(close: Close): void;
}

/** What names a daemon, and what it is shown. */
export interface Pairing {
  /** Such as `http://127.0.0.1:42081`, without a slash at its end. */
  readonly endpoint: string;
  /** Empty when there is none. */
  readonly token: string;
  /** What the page calls itself. */
  readonly client: string;
}

const nothing: Cancel = () => undefined;

export class Connection implements SocketOwner {
  readonly #surroundings: Surroundings;
  readonly #owner: ConnectionOwner;
  readonly #liveness: Liveness;
  #pairing: Pairing;
  #socket: Socket | undefined;
  #welcome: Welcome | undefined;
  #state: State = "stopped";
  #details: StateDetails = {};
  #failures = 0;
  #notBefore = 0;
  #cancelTimer = nothing;
  #cancelSteady = nothing;
  // A detection that a newer attempt has overtaken must not change anything.
  #attempt = 0;

  constructor(surroundings: Surroundings, pairing: Pairing, owner: ConnectionOwner) {
    this.#surroundings = surroundings;
    this.#pairing = pairing;
    this.#owner = owner;
    const { clock, page, isHealthy } = surroundings;
    this.#liveness = new Liveness(
      clock,
      page,
      () => isHealthy(this.#pairing.endpoint),
      (stalled) => this.#enter(stalled ? "stalled" : "connected"),
    );
  }

  get state(): State {
    return this.#state;
  }

  get details(): StateDetails {
    return this.#details;
  }

  get pairing(): Pairing {
    return this.#pairing;
  }

  /** The daemon's `welcome`; `undefined` while there is no connection. */
  get welcome(): Welcome | undefined {
    return this.#welcome;
  }

  /** Connect with another token, or elsewhere. */
  use(pairing: Pairing): void {
    this.#pairing = pairing;
    this.#restart();
  }

  /** Look now, despite any refusal; a connection that works stays. */
  retry(): void {
    if (this.#welcome === undefined) {
      this.#restart();
    } else {
      this.#liveness.suspect();
    }
  }

  /** A call waits: do not wait for the next attempt, unless the daemon is overloaded. */
  hurry(): void {
    if (this.#state === "absent" || this.#state === "waiting") {
      const wait = this.#notBefore - this.#surroundings.clock.now();
      if (wait > 0) {
        this.#schedule(wait);
      } else {
        void this.#look();
      }
    }
  }

  /** Send a frame; return whether there is a connection. */
  send(frame: string): boolean {
    if (this.#welcome === undefined || this.#socket === undefined) {
      return false;
    }
    this.#socket.send(frame);
    return true;
  }

  /** A call was not answered in time. */
  suspect(): void {
    this.#liveness.suspect();
  }

  stop(): void {
    this.#end(ABNORMAL);
    this.#enter("stopped");
  }

  welcomed(welcome: Welcome): void {
    this.#cancelTimer();
    this.#welcome = welcome;
    this.#cancelSteady = this.#surroundings.clock.later(STEADY_MILLISECONDS, () => {
      this.#failures = 0;
    });
    this.#liveness.start();
    // First what waits for the connection, then what its listeners add.
    this.#owner.opened(welcome);
    this.#enter("connected");
  }

  received(frame: Fields): void {
    this.#liveness.heard();
    this.#owner.received(frame);
  }

  closed(close: Close): void {
    this.#end(close);
    const retry = retryAfter(close.reason);
    const again = retry === "once" && this.#failures === 0;
    if (!again && (close.code === POLICY || retry === "paired")) {
      const reason = close.reason === ROTATED ? "rotated" : "refused";
      this.#enter("unpaired", { reason, close });
    } else {
      this.#retryLater("waiting", close);
    }
  }

  #restart(): void {
    this.#end(ABNORMAL);
    this.#failures = 0;
    this.#notBefore = 0;
    void this.#look();
  }

  async #look(): Promise<void> {
    this.#cancelTimer();
    this.#attempt += 1;
    const attempt = this.#attempt;
    this.#enter("detecting");
    const detected = await this.#surroundings.isHealthy(this.#pairing.endpoint);
    if (attempt !== this.#attempt) {
      return;
    }
    if (!detected) {
      this.#retryLater("absent");
    } else if (this.#pairing.token === "") {
      this.#enter("unpaired", { reason: "missing" });
    } else {
      this.#connect();
    }
  }

  #connect(): void {
    const { clock, WebSocket } = this.#surroundings;
    const { endpoint, token, client } = this.#pairing;
    try {
      this.#socket = new Socket(WebSocket, endpoint, { token, client }, this);
    } catch {
      // Such as a page whose policy does not let it connect there.
      this.#retryLater("waiting", ABNORMAL);
      return;
    }
    this.#cancelTimer = atDeadline(clock, CONNECT_MILLISECONDS, () => {
      this.#end(ABNORMAL);
      this.#retryLater("waiting", ABNORMAL);
    });
    this.#enter("connecting");
  }

  #retryLater(state: "absent" | "waiting", close?: Close): void {
    const { clock } = this.#surroundings;
    const step = Math.min(this.#failures, RETRY_MILLISECONDS.length - 1);
    const usual = RETRY_MILLISECONDS[step] ?? 0;
    let wait = usual * (1 - JITTER + 2 * JITTER * clock.random());
    this.#failures += 1;
    if (close?.code === TRY_AGAIN_LATER) {
      this.#notBefore = clock.now() + OVERLOADED_MILLISECONDS;
      wait = Math.max(wait, OVERLOADED_MILLISECONDS);
    }
    this.#schedule(wait);
    const details = { retryInMs: Math.round(wait) };
    this.#enter(state, close === undefined ? details : { ...details, close });
  }

  #schedule(wait: number): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#surroundings.clock.later(wait, () => void this.#look());
  }

  /** End whatever is under way. */
  #end(close: Close): void {
    const wasOpen = this.#welcome !== undefined;
    this.#attempt += 1;
    this.#cancelTimer();
    this.#cancelSteady();
    this.#liveness.stop();
    this.#socket?.abandon();
    this.#socket = undefined;
    this.#welcome = undefined;
    if (wasOpen) {
      this.#owner.lost(close);
    }
  }

  #enter(state: State, details: StateDetails = {}): void {
    this.#state = state;
    this.#details = details;
    this.#owner.changed(state, details);
  }
}
