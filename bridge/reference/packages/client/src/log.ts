/** The page's log lines, sent to the daemon in batches. */

import type { Clock } from "./clock.js";
import { wellFormed } from "./json.js";
import { LIMITS } from "./protocol.js";

const GATHER_MILLISECONDS = 250;
const KEPT_RECORDS = 500;

export type Level = "debug" | "info" | "warn" | "error";

interface LogRecord {
  readonly level: Level;
  readonly scope: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly ts: number;
}

/** Gathers lines for 250 ms; without a connection the newest 500 wait. */
export class LogQueue {
  readonly #clock: Clock;
  readonly #send: (frame: string) => boolean;
  #unsent: LogRecord[] = [];
  #gathering = false;

  /** @param send Sends a frame; returns whether there is a connection. */
  constructor(clock: Clock, send: (frame: string) => boolean) {
    this.#clock = clock;
    this.#send = send;
  }

  add(level: Level, scope: string, message: string): void {
    this.#unsent.push({
      level,
      scope: scope.slice(0, LIMITS.logScopeCharacters),
      message: message.slice(0, LIMITS.logMessageCharacters),
      ts: this.#clock.date(),
    });
    this.#unsent.splice(0, this.#unsent.length - KEPT_RECORDS);
    if (!this.#gathering) {
      this.#gathering = true;
      this.#clock.later(GATHER_MILLISECONDS, () => {
        this.#gathering = false;
        this.flush();
      });
    }
  }

  /** Send what waits, if there is a connection. */
  flush(): void {
    while (this.#unsent.length > 0) {
      const records = this.#unsent.slice(0, LIMITS.logRecords);
      if (!this.#send(wellFormed(JSON.stringify({ type: "logs", records })))) {
        return;
      }
      this.#unsent = this.#unsent.slice(records.length);
    }
  }

  /** Forget what waits: it came too fast. */
  drop(): void {
    this.#unsent = [];
  }
}
