import { Calls, type Params } from "./calls.js";
import type { CallOptions, Daemon } from "./daemon.js";
import { detect } from "./discovery.js";
import { Signal } from "./signal.js";
import { BridgeSocket, type SocketOwner, type Welcome } from "./socket.js";
import type { Environment } from "./environment.js";

const RETRY_MILLISECONDS = [1_000, 2_000, 5_000, 15_000, 30_000] as const;
// The daemon closes with it only to refuse a hello; asking again would not help.
const CLOSED_BY_POLICY = 1008;

/** The state that the bridge card shows. */
export type BridgeState = "not-detected" | "connecting" | "not-paired" | "connected";

/** A `push` frame of the daemon. */
export interface Push {
  readonly event: string;
  readonly data: unknown;
}

/**
 * The connection to the daemon: detects it, connects, and reconnects.
 *
 * Retries come after 1, 2, 5, 15, 30, 30... seconds.  A refused token ends them until
 * there is another token or endpoint, or the user tries again.
 */
export class Connection implements Daemon, SocketOwner {
  /** The state, the version or the services changed. */
  readonly changed = new Signal();
  /** A socket was accepted. */
  readonly opened = new Signal();
  readonly pushes = new Signal<Push>();

  readonly #environment: Environment;
  readonly #calls: Calls;
  #endpoint: string;
  #token: string;
  #socket: BridgeSocket | undefined;
  #welcome: Welcome | undefined;
  #detected = false;
  #refused = "";
  #failures = 0;
  #forgetRetry = (): void => {};
  // A detection that a newer one has overtaken must not change anything.
  #look = 0;

  constructor(environment: Environment, endpoint: string, token: string) {
    this.#environment = environment;
    this.#calls = new Calls(environment.later);
    this.#endpoint = endpoint;
    this.#token = token;
  }

  get endpoint(): string {
    return this.#endpoint;
  }

  get paired(): boolean {
    return this.#token !== "";
  }

  get state(): BridgeState {
    if (this.#welcome !== undefined) {
      return "connected";
    }
    if (this.#refused !== "" || (this.#detected && !this.paired)) {
      return "not-paired";
    }
    return this.#detected ? "connecting" : "not-detected";
  }

  /** The daemon's `welcome`; `undefined` while not connected. */
  get welcome(): Welcome | undefined {
    return this.#welcome;
  }

  /** Why the last hello was refused; empty when it was not. */
  get refusal(): string {
    return this.#refused;
  }

  /** Detect the daemon now, despite any refusal; also starts the connection. */
  check(): void {
    if (this.#welcome === undefined) {
      this.#restart();
    } else {
      // Calls may be under way: a working connection stays.
      void this.#detect();
    }
  }

  useToken(token: string): void {
    this.#token = token;
    this.#restart();
  }

  /** @param endpoint Such as `http://127.0.0.1:42081`, without a slash at its end. */
  useEndpoint(endpoint: string): void {
    this.#endpoint = endpoint;
    this.#detected = false;
    this.#restart();
  }

  /**
   * Call a method of the daemon.
   *
   * @throws BridgeError It refused, or there was no answer in time.
   */
  call(
    service: string,
    method: string,
    params: Params = {},
    { timeoutMs }: CallOptions = {},
  ): Promise<unknown> {
    const answer = this.#calls.make(service, method, params, timeoutMs);
    this.#flush();
    return answer;
  }

  /** Send a frame that has no answer; whether it went out. */
  send(frame: object): boolean {
    if (this.#socket?.welcomed !== true) {
      return false;
    }
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  welcomed(welcome: Welcome): void {
    this.#welcome = welcome;
    this.#failures = 0;
    this.opened.emit();
    this.#flush();
    this.changed.emit();
  }

  answered(frame: unknown): void {
    this.#calls.answer(frame);
  }

  pushed(event: string, data: unknown): void {
    this.pushes.emit({ event, data });
  }

  closed(code: number, reason: string): void {
    const wasOpen = this.#welcome !== undefined;
    this.#lost();
    if (code === CLOSED_BY_POLICY) {
      this.#refused = reason || "refused";
    } else {
      this.#retryLater();
      if (wasOpen) {
        void this.#detect();
      }
    }
    this.changed.emit();
  }

  async #connect(): Promise<void> {
    this.#forgetRetry();
    if (!(await this.#detect())) {
      return;
    }
    if (!this.#detected) {
      this.#retryLater();
    } else if (this.paired) {
      const { open } = this.#environment;
      this.#socket = new BridgeSocket(open, this.#endpoint, this.#token, this);
    }
  }

  /** Detect the daemon; `false` when a newer detection has taken over. */
  async #detect(): Promise<boolean> {
    this.#look += 1;
    const look = this.#look;
    const detected = await detect(this.#environment.read, this.#endpoint);
    if (look !== this.#look) {
      return false;
    }
    this.#detected = detected;
    this.changed.emit();
    return true;
  }

  #retryLater(): void {
    const last = RETRY_MILLISECONDS.length - 1;
    const wait = RETRY_MILLISECONDS[Math.min(this.#failures, last)] ?? 0;
    this.#failures += 1;
    this.#forgetRetry();
    this.#forgetRetry = this.#environment.later(wait, () => void this.#connect());
  }

  #flush(): void {
    const socket = this.#socket;
    if (socket?.welcomed === true) {
      this.#calls.flush((frame) => socket.send(frame));
    }
  }

  #restart(): void {
    this.#socket?.abandon();
    this.#lost();
    this.#refused = "";
    this.#failures = 0;
    this.changed.emit();
    void this.#connect();
  }

  #lost(): void {
    this.#socket = undefined;
    this.#welcome = undefined;
    this.#calls.disconnected();
  }
}
