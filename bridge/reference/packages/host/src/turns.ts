/** The calls of plugins: each has a share, and all together leave one to the page. */

import { BridgeError, PermissionError } from "@bridge/plugin-api";

import { METHODS } from "../../client/src/protocol.js";
import { Bucket, type Rate } from "./bucket.js";
import type { CallOptions, Caller } from "./daemon.js";
import type { Environment, Later } from "./environment.js";

// Below what the daemon allows a socket (5 a second, 10 at once; 120 and 240 for light
// calls): a call of the page never waits there for one of a plugin.
const ORDINARY: Rate = { perSecond: 4, burst: 6 };
const LIGHT: Rate = { perSecond: 100, burst: 200 };
const UNANSWERED = 8;
const WAITING = 256;

/** The daemon's methods, as one plugin may call them. */
export interface PluginCaller extends Caller {
  /** Reject what was not sent yet, and whatever is called from now on. */
  close(): void;
}

/** Makes callers for plugins, which take turns. */
export class Turns {
  readonly #caller: Caller;
  readonly #ordinary: Lane;
  readonly #light: Lane;

  constructor(caller: Caller, { later, now }: Environment) {
    this.#caller = caller;
    this.#ordinary = new Lane(new Bucket(ORDINARY, now), later);
    this.#light = new Lane(new Bucket(LIGHT, now), later);
  }

  /** Make the caller of a plugin that starts. */
  of(): PluginCaller {
    const share: Share = { unanswered: 0, waiting: 0 };
    let closed = false;
    return {
      call: (service, method, params, options) =>
        closed ? Promise.reject(switchedOff()) : this.#call(share, service, method, params, options),
      close: () => {
        closed = true;
        for (const lane of [this.#ordinary, this.#light]) {
          lane.drop(share).forEach(({ refuse }) => refuse(switchedOff()));
        }
      },
    };
  }

  #call(
    share: Share,
    service: string,
    method: string,
    params?: { readonly [name: string]: unknown },
    options?: CallOptions,
  ): Promise<unknown> {
    if (share.waiting >= WAITING) {
      const words = `more than ${WAITING} calls of this plugin wait`;
      return Promise.reject(new BridgeError("rate_limited", words));
    }
    return new Promise((resolve, refuse) => {
      const send = (): void => {
        share.unanswered += 1;
        const ended = (): void => {
          share.unanswered -= 1;
          this.#ordinary.advance();
          this.#light.advance();
        };
        const answer = this.#caller.call(service, method, params, options);
        answer.then(resolve, refuse).then(ended, ended);
      };
      this.#laneOf(`${service}/${method}`).add(share, { send, refuse });
    });
  }

  #laneOf(method: string): Lane {
    const rates: { readonly [method: string]: { readonly rate: string } } = METHODS;
    const isLight = Object.hasOwn(rates, method) && rates[method]?.rate === "light";
    return isLight ? this.#light : this.#ordinary;
  }
}

/** What one plugin has under way. */
interface Share {
  unanswered: number;
  waiting: number;
}

interface Waiting {
  readonly send: () => void;
  readonly refuse: (reason: Error) => void;
}

/** The calls of one rate that wait. */
class Lane {
  readonly #bucket: Bucket;
  readonly #later: Later;
  // In the order of their turns; no queue is empty.
  readonly #queues = new Map<Share, Waiting[]>();
  #timer: (() => void) | undefined;

  constructor(bucket: Bucket, later: Later) {
    this.#bucket = bucket;
    this.#later = later;
  }

  add(share: Share, call: Waiting): void {
    share.waiting += 1;
    this.#queues.set(share, [...(this.#queues.get(share) ?? []), call]);
    this.advance();
  }

  /** Remove what a plugin has waiting, and return it. */
  drop(share: Share): readonly Waiting[] {
    const dropped = this.#queues.get(share) ?? [];
    share.waiting -= dropped.length;
    this.#queues.delete(share);
    return dropped;
  }

  /** Send whatever may be sent. */
  advance(): void {
    for (;;) {
      const turn = [...this.#queues].find(([share]) => share.unanswered < UNANSWERED);
      if (turn === undefined) {
        return;
      }
      if (!this.#bucket.take()) {
        this.#timer ??= this.#later(this.#bucket.wait(), () => {
          this.#timer = undefined;
          this.advance();
        });
        return;
      }
      this.#sendFirst(...turn);
    }
  }

  #sendFirst(share: Share, [call, ...rest]: readonly Waiting[]): void {
    // After all others.
    this.#queues.delete(share);
    if (rest.length > 0) {
      this.#queues.set(share, rest);
    }
    share.waiting -= 1;
    call?.send();
  }
}

function switchedOff(): Error {
  return new PermissionError("the plugin is switched off");
}
