import type { Level, Log, LogRecord } from "../log.js";
import { Signal } from "../signal.js";

const KEPT_LINES = 500;

/** A line, with a number of its own. */
export type Line = LogRecord & { readonly number: number };

export const LEVELS: readonly Level[] = ["debug", "info", "warn", "error"];

export interface LineFilter {
  /** The least important level. */
  readonly level: Level;
  /** Empty for all. */
  readonly scope: string;
  readonly search: string;
}

/** The newest lines of the page's log and of the daemon's. */
export class LogBook {
  readonly changed = new Signal();
  #lines: readonly Line[] = [];
  #number = 0;

  constructor(log: Log) {
    log.recorded.listen((record) => {
      this.#number += 1;
      this.#lines = [...this.#lines.slice(1 - KEPT_LINES), { ...record, number: this.#number }];
      this.changed.emit();
    });
  }

  /** The oldest first. */
  get lines(): readonly Line[] {
    return this.#lines;
  }

  clear(): void {
    this.#lines = [];
    this.changed.emit();
  }
}

/** The lines that a filter leaves. */
export function filtered(lines: readonly Line[], filter: LineFilter): readonly Line[] {
  const least = LEVELS.indexOf(filter.level);
  const search = filter.search.toLowerCase();
  return lines.filter(
    ({ level, scope, message }) =>
      LEVELS.indexOf(level) >= least &&
      (filter.scope === "" || scope === filter.scope) &&
      `${scope} ${message}`.toLowerCase().includes(search),
  );
}

/** A line as it is copied. */
export function lineText({ level, scope, message, ts }: LogRecord): string {
  return `${new Date(ts).toISOString()} ${level} ${scope} ${message}`;
}
