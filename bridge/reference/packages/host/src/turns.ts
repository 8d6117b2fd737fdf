/** The calls of plugins: each has a share, and all together leave one to the page. */

import { BridgeError, PermissionError } from "@bridge/plugin-api";

import type { CallOptions, MethodName } from "../../client/src/index.js";
import { METHODS } from "../../client/src/protocol.js";
import { Bucket, type Rate } from "./bucket.js";
import type { Environment, Later } from "./environment.js";
import type { Caller, Daemon } from "./link.js";

// Below what the daemon allows a socket (5 a second, 10 at once; 120 and 240 for light
// calls): a call of the page never waits there for one of a plugin.
const ORDINARY: Rate = { perSecond: 4, burst: 6 };
const LIGHT: Rate = { perSecond: 100, burst: 200 };
// As long as calls of the page wait for a connection.
const CONNECTED_MILLISECONDS = 4_000;

/** The daemon's methods, as one plugin may call them. */
export interface PluginCaller extends Caller {
  /** Reject what was not sent yet, and whatever is called from now on. */
  close(): void;
}

/**
 * Makes callers for plugins, which take turns.
 *
 * Without a connection nothing is sent, or all of it would come before the page's own
 * calls with the next one.
 */
export class Turns {
  readonly #caller: Caller;
  readonly #ordinary: Lane;
  readonly #light: Lane;

  constructor(daemon: Omit<Daemon, "on">, { later, now }: Environment) {
    this.#caller = daemon;
    this.#ordinary = new Lane(new Bucket(ORDINARY, now), daemon, later);
    this.#light = new Lane(new Bucket(LIGHT, now), daemon, later);
    // After what the page itself reads then.
    daemon.opened.listen(() => void later(0, () => this.#advance()));
  }

  /** Make the caller of a plugin that starts. */
  of(): PluginCaller {
    const share: Share = {};
    let closed = false;
    const call = (method: MethodName, params?: object, options?: CallOptions): Promise<unknown> =>
      closed ? Promise.reject(switchedOff()) : this.#call(share, method, params, options);
    return {
      call: call as Caller["call"],
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
    method: MethodName,
    params?: object,
    options?: CallOptions,
  ): Promise<unknown> {
    return new Promise((resolve, refuse) => {
      const send = (): void => {
        this.#caller.call(method, params as never, options).then(resolve, refuse);
      };
      this.#laneOf(method).add(share, { send, refuse, cancel: () => undefined });
    });
  }

  #advance(): void {
    this.#ordinary.advance();
    this.#light.advance();
  }

  #laneOf(method: MethodName): Lane {
    // A plugin may name a method that there is not.
    const isLight = Object.hasOwn(METHODS, method) && METHODS[method].rate === "light";
    return isLight ? this.#light : this.#ordinary;
  }
}

/** Stands for a plugin, whose port bounds how many calls it has. */
type Share = object;

interface Waiting {
  readonly send: () => void;
  readonly refuse: (reason: Error) => void;
  /** It does not wait for a connection any more. */
  cancel: () => void;
}

/** The calls of one rate that wait. */
class Lane {
  readonly #bucket: Bucket;
  readonly #daemon: Pick<Daemon, "isOpen">;
  readonly #later: Later;
  // In the order of their turns; no queue is empty.
  readonly #queues = new Map<Share, readonly Waiting[]>();
  #timer: (() => void) | undefined;

  constructor(bucket: Bucket, daemon: Pick<Daemon, "isOpen">, later: Later) {
    this.#bucket = bucket;
    this.#daemon = daemon;
    this.#later = later;
  }

  add(share: Share, call: Waiting): void {
    this.#queues.set(share, [...(this.#queues.get(share) ?? []), call]);
    this.#watch(share, call);
    this.advance();
  }

  /** Remove what a plugin has waiting, and return it. */
  drop(share: Share): readonly Waiting[] {
    const dropped = this.#queues.get(share) ?? [];
    dropped.forEach(({ cancel }) => cancel());
    this.#queues.delete(share);
    return dropped;
  }

  /** Send whatever may be sent. */
  advance(): void {
    while (this.#daemon.isOpen) {
      const [turn] = this.#queues;
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

  /** Refuse a call that has waited for a connection for long enough. */
  #watch(share: Share, call: Waiting): void {
    call.cancel = this.#later(CONNECTED_MILLISECONDS, () => {
      if (this.#daemon.isOpen) {
        this.#watch(share, call);
        return;
      }
      this.#keep(share, (this.#queues.get(share) ?? []).filter((other) => other !== call));
      call.refuse(new BridgeError("disconnected", "there is no connection to the bridge"));
    });
  }

  /** Keep what a plugin has waiting, after what all others have. */
  #keep(share: Share, calls: readonly Waiting[]): void {
    this.#queues.delete(share);
    if (calls.length > 0) {
      this.#queues.set(share, calls);
    }
  }

  #sendFirst(share: Share, [call, ...rest]: readonly Waiting[]): void {
    this.#keep(share, rest);
    call?.cancel();
    call?.send();
  }
}

function switchedOff(): Error {
  return new PermissionError("the plugin is switched off");
}
