/** Realms without workers: the real runtime of a realm, next to the page's own code. */

import type { Port } from "../../bridge/reference/packages/host/src/realm/channel.js";
import { Realm } from "../../bridge/reference/packages/host/src/realm/realm.js";
import type {
  Failure,
  RealmPort,
  Realms,
} from "../../bridge/reference/packages/host/src/realm/realms.js";
import type { FromRealm, ToRealm } from "../../bridge/reference/packages/host/src/realm/wire.js";
import { Signal } from "../../bridge/reference/packages/host/src/signal.js";
import type { FakeEnvironment } from "../../clients/typescript/test/fakeenvironment.js";
import { FakeElement, withDocument } from "./fakedocument.js";

type Load = () => unknown;
/** What a realm does that does not run our runtime: it is given each message. */
export type Foreign = (message: ToRealm, send: (message: unknown) => void) => void;

const loads: Load[] = [];
const foreign = new Map<Load, Foreign>();

/** The text of a plugin that is made by a function. */
export function textOf(load: Load): string {
  loads.push(load);
  return `@${loads.length - 1}@`;
}

/** The text of a plugin that has taken its port from our runtime. */
export function foreignText(does: Foreign): string {
  const load = (): void => undefined;
  foreign.set(load, does);
  return textOf(load);
}

export interface Started {
  readonly failed: Signal<Failure>;
  /** Every message that it has sent. */
  readonly sent: FromRealm[];
  hasEnded: boolean;
  isClosed: boolean;
}

/** Starts realms in this process; what they send arrives in order, a moment later. */
export class FakeRealms implements Realms {
  readonly lost = new Signal();
  readonly started: Started[] = [];
  readonly #env: FakeEnvironment;
  /** How often the frame was removed. */
  rebuilt = 0;

  constructor(env: FakeEnvironment) {
    this.#env = env;
  }

  async start(script: string): Promise<RealmPort> {
    const load = loads[Number(/@(\d+)@/.exec(script)?.[1])];
    const one: Started = { failed: new Signal(), sent: [], hasEnded: false, isClosed: false };
    this.started.push(one);
    const port: Port = {
      onmessage: null,
      postMessage: (text) => queueMicrotask(() => one.isClosed || receive(text)),
      close: () => {
        one.isClosed = true;
      },
    };
    const send = (data: unknown): void => {
      queueMicrotask(() => one.isClosed || port.onmessage?.({ data } as MessageEvent));
    };
    const post = (text: string): void => {
      one.sent.push(JSON.parse(text) as FromRealm);
      send(text);
    };
    const does = load === undefined ? undefined : foreign.get(load);
    const realm = new Realm(post, load ?? fail, this.#env);
    const receive = (text: string): void =>
      does === undefined ? realm.receive(text) : does(JSON.parse(text) as ToRealm, send);
    return {
      port,
      failed: one.failed,
      end: () => {
        one.hasEnded = true;
      },
    };
  }

  rebuild(): void {
    this.rebuilt += 1;
  }
}

function fail(): never {
  throw new Error("a test has to name its plugins");
}

/** A frame of realms, without a process behind it. */
export class FakeFrame extends FakeElement {
  readonly sandbox = { add: (): void => undefined };
  readonly contentWindow = {
    postMessage: (_: unknown, _target: string, [port]: readonly FakePort[]): void => {
      this.#port = port;
    },
  };
  #port: FakePort | undefined;

  /** Its process answers, also for the first time. */
  answer(): void {
    if (this.#port === undefined) {
      this.fire("load");
    }
    this.#port?.postMessage({ pong: 1 });
  }
}

class FakePort {
  onmessage: ((event: { data: object }) => void) | null = null;
  other: FakePort | undefined;

  postMessage(data: object): void {
    this.other?.onmessage?.({ data });
  }
}

class FakeChannel {
  readonly port1 = new FakePort();
  readonly port2 = new FakePort();

  constructor() {
    [this.port1.other, this.port2.other] = [this.port2, this.port1];
  }
}

/** Run something where frames can be made; it gets those that were. */
export async function withFrames(work: (frames: readonly FakeFrame[]) => Promise<void>): Promise<void> {
  const frames: FakeFrame[] = [];
  const scope = globalThis as { MessageChannel: unknown };
  const { MessageChannel } = scope;
  scope.MessageChannel = FakeChannel;
  const make = (tag: string): FakeElement => {
    const made = tag === "iframe" ? new FakeFrame(tag) : new FakeElement(tag);
    if (made instanceof FakeFrame) {
      frames.push(made);
    }
    return made;
  };
  await withDocument(() => work(frames), make).finally(() => (scope.MessageChannel = MessageChannel));
}
