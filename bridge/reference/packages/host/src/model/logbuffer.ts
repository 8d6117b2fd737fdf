import { LEVELS, type Level, type Log, type LogRecord, levelOf } from "../log.js";
import { Signal } from "../signal.js";
import { fields, list, text } from "../wire.js";

const KEPT_LINES = 500;
const KEPT_KEY = "plugin-bridge.log";
// Over a reload: what a store of a browser has room for, next to everything else in it.
const KEPT_OVER_RELOAD = 200;

/** A line, with a number of its own. */
export type Line = LogRecord & { readonly number: number };

export interface LineFilter {
  /** The least important level. */
  readonly level: Level;
  /** Empty for all. */
  readonly scope: string;
  readonly search: string;
}

/** The newest lines of the page's log and of the daemon's, with a share for each scope. */
export class LogBuffer {
  readonly changed = new Signal();
  #lines: readonly Line[] = [];
  #number = 0;
  readonly #store: Pick<Storage, "getItem" | "setItem">;

  /** @param store Lasts as long as the tab: it has the lines from before a reload. */
  constructor(log: Log, store: Pick<Storage, "getItem" | "setItem">) {
    this.#store = store;
    readLines(store.getItem(KEPT_KEY) ?? "").forEach((record) => this.#add(record));
    log.recorded.listen((record) => {
      this.#add(record);
      this.changed.emit();
    });
  }

  /** The page is being left: keep the newest lines for the next one. */
  keep(): void {
    const kept = shared(this.#lines, KEPT_OVER_RELOAD);
    const lines = kept.map(({ number: _, ...record }) => record);
    try {
      this.#store.setItem(KEPT_KEY, JSON.stringify(lines));
    } catch {
      // The store is full: the next page begins with an empty log.
    }
  }

  #add(record: LogRecord): void {
    this.#number += 1;
    const lines = [...this.#lines, { ...record, number: this.#number }];
    // Not for each line, of which there may be thousands in a second.
    this.#lines = lines.length > 2 * KEPT_LINES ? shared(lines, KEPT_LINES) : lines;
  }

  /** The oldest first. */
  get lines(): readonly Line[] {
    return shared(this.#lines, KEPT_LINES);
  }

  clear(): void {
    this.#lines = [];
    this.changed.emit();
  }
}

/** At most so many of the lines; the scopes that have most give up their oldest. */
function shared(lines: readonly Line[], most: number): readonly Line[] {
  if (lines.length <= most) {
    return lines;
  }
  const counts = new Map<string, number>();
  const counted = [...lines].reverse().map((line): [Line, number] => {
    const count = (counts.get(line.scope) ?? 0) + 1;
    counts.set(line.scope, count);
    return [line, count];
  });
  const kept = counted.sort(([, one], [, other]) => one - other).slice(0, most);
  return kept.map(([line]) => line).sort((one, other) => one.number - other.number);
}

function readLines(kept: string): readonly LogRecord[] {
  try {
    return list(JSON.parse(kept)).map(fields).map(({ level, scope, message, ts }) => ({
      level: levelOf(text(level)),
      scope: text(scope),
      message: text(message),
      ts: typeof ts === "number" ? ts : 0,
    }));
  } catch {
    return [];
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

/** A line as it is copied; lines in a message are indented, so that none looks like another's. */
export function lineText({ level, scope, message, ts }: LogRecord): string {
  const indented = message.replace(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/gu, "\n    ");
  return `${new Date(ts).toISOString()} ${level} ${scope} ${indented}`;
}
