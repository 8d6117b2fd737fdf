import type { Logger } from "@bridge/plugin-api";

import { Signal } from "./signal.js";
import type { Environment } from "./environment.js";

const GATHER_MILLISECONDS = 250;
const FRAME_RECORDS = 200;
const KEPT_RECORDS = 500;

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

/** The text of an error for a person. */
export function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/**
 * The page's log, mirrored to the daemon.
 *
 * Records are gathered for 250 ms; without a connection the newest 500 wait.
 */
export class Log {
  readonly recorded = new Signal<LogRecord>();
  readonly #environment: Pick<Environment, "later" | "now">;
  readonly #deliver: (frame: object) => boolean;
  #unsent: LogRecord[] = [];
  #gathering = false;

  /** @param deliver Sends a frame; returns whether it was sent. */
  constructor(
    environment: Pick<Environment, "later" | "now">,
    deliver: (frame: object) => boolean,
  ) {
    this.#environment = environment;
    this.#deliver = deliver;
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
    const record = { level, scope, message: String(message), ts: this.#environment.now() };
    this.recorded.emit(record);
    if (scope === DAEMON_SCOPE) {
      return;
    }
    this.#unsent.push(record);
    this.#unsent.splice(0, this.#unsent.length - KEPT_RECORDS);
    this.#gather();
  }

  /** Send what waits; called when a connection opens. */
  flush(): void {
    while (this.#unsent.length > 0) {
      const records = this.#unsent.slice(0, FRAME_RECORDS);
      if (!this.#deliver({ type: "logs", records })) {
        return;
      }
      this.#unsent = this.#unsent.slice(records.length);
    }
  }

  #gather(): void {
    if (!this.#gathering) {
      this.#gathering = true;
      this.#environment.later(GATHER_MILLISECONDS, () => {
        this.#gathering = false;
        this.flush();
      });
    }
  }
}
