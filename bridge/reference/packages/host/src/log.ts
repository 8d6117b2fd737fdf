import type { Logger } from "@bridge/plugin-api";

import { Bucket, type Rate } from "./bucket.js";
import type { Environment } from "./environment.js";
import { Signal } from "./signal.js";

/** The scope of the daemon's own lines, which never go back to it. */
export const DAEMON_SCOPE = "bridge";
export const HOST_SCOPE = "host";

/** How many lines of a plugin are logged. */
export const PLUGIN_LINES: Rate = { perSecond: 50, burst: 50 };
/** The most characters of one. */
export const PLUGIN_CHARACTERS = 2_000;
const COUNT_MILLISECONDS = 1_000;

/** The least important first. */
export const LEVELS = ["debug", "info", "warn", "error"] as const;
export type Level = (typeof LEVELS)[number];

export interface LogRecord {
  readonly level: Level;
  readonly scope: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly ts: number;
}

/** The level of that name; `info` for a name it does not know. */
export function levelOf(name: string): Level {
  return LEVELS.find((level) => level === name) ?? "info";
}

export { describe } from "../../api/src/describe.js";

/** The page's log, mirrored to the daemon. */
export class Log {
  readonly recorded = new Signal<LogRecord>();
  readonly #environment: Environment;
  readonly #mirror: (level: Level, scope: string, message: string) => void;
  readonly #lines: Rate;
  readonly #shares = new Map<string, LogShare>();

  /**
   * @param mirror Adds a line to the daemon's log of the page.
   * @param lines How many of each plugin there may be.
   */
  constructor(
    environment: Environment,
    mirror: (level: Level, scope: string, message: string) => void,
    lines = PLUGIN_LINES,
  ) {
    this.#environment = environment;
    this.#mirror = mirror;
    this.#lines = lines;
  }

  /** A logger for a plugin, which has a share of the log; its id is the scope. */
  scope(id: string): Logger {
    const adds = (level: Level) => (message: string) => this.#addFor(id, level, message);
    return { debug: adds("debug"), info: adds("info"), warn: adds("warn"), error: adds("error") };
  }

  add(level: Level, scope: string, message: string): void {
    this.recorded.emit({ level, scope, message, ts: this.#environment.date() });
    if (scope !== DAEMON_SCOPE) {
      this.#mirror(level, scope, message);
    }
  }

  #addFor(id: string, level: Level, message: string): void {
    // Of the plugin, not of its instance: switching it off and on gives it no second share.
    let share = this.#shares.get(id);
    if (share === undefined) {
      const note = (words: string): void => this.add("warn", id, words);
      share = new LogShare(this.#environment, this.#lines, note);
      this.#shares.set(id, share);
    }
    if (share.take()) {
      // A plugin may pass anything.
      this.add(level, id, String(message).slice(0, PLUGIN_CHARACTERS));
    }
  }
}

/** Which lines of a plugin are logged; what is left out is counted in a line a second. */
class LogShare {
  readonly #environment: Environment;
  readonly #note: (words: string) => void;
  readonly #bucket: Bucket;
  #leftOut = 0;

  constructor(environment: Environment, lines: Rate, note: (words: string) => void) {
    this.#environment = environment;
    this.#note = note;
    this.#bucket = new Bucket(lines, environment.now);
  }

  take(): boolean {
    if (this.#bucket.take()) {
      return true;
    }
    this.#leftOut += 1;
    if (this.#leftOut === 1) {
      this.#environment.later(COUNT_MILLISECONDS, () => {
        this.#note(`${this.#leftOut} more lines were left out`);
        this.#leftOut = 0;
      });
    }
    return false;
  }
}
