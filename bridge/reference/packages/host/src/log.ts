import type { Logger } from "@bridge/plugin-api";

import { Signal } from "./signal.js";

/** The scope of the daemon's own lines, which never go back to it. */
export const DAEMON_SCOPE = "bridge";
export const HOST_SCOPE = "host";

export type Level = "debug" | "info" | "warn" | "error";

export interface LogRecord {
  readonly level: Level;
  readonly scope: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly ts: number;
}

/** The level of that name; `info` for a name it does not know. */
export function levelOf(name: string): Level {
  return name === "debug" || name === "warn" || name === "error" ? name : "info";
}

export { describe } from "../../api/src/describe.js";

/** The page's log, mirrored to the daemon. */
export class Log {
  readonly recorded = new Signal<LogRecord>();
  readonly #now: () => number;
  readonly #mirror: (level: Level, scope: string, message: string) => void;

  /** @param mirror Adds a line to the daemon's log of the page. */
  constructor(
    now: () => number,
    mirror: (level: Level, scope: string, message: string) => void,
  ) {
    this.#now = now;
    this.#mirror = mirror;
  }

  /** A logger for one scope, such as a plugin's id. */
  scope(scope: string): Logger {
    return {
      debug: (message) => this.add("debug", scope, message),
      info: (message) => this.add("info", scope, message),
      warn: (message) => this.add("warn", scope, message),
      error: (message) => this.add("error", scope, message),
    };
  }

  add(level: Level, scope: string, message: string): void {
    // A plugin may pass anything.
    const words = String(message);
    this.recorded.emit({ level, scope, message: words, ts: this.#now() });
    if (scope !== DAEMON_SCOPE) {
      this.#mirror(level, scope, words);
    }
  }
}
