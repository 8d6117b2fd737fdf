/** The console of a plugin: its lines are those of its log, and share their number. */

import type { Logger } from "@bridge/plugin-api";

import { describe } from "../../../api/src/describe.js";

/**
 * Return a console that writes to the plugin's log.
 *
 * @param browsers The browser's; of what it has, counters and timers write nothing here.
 */
export function consoleOf(logger: Logger, browsers: Console): Console {
  const writing = (level: keyof Logger) => (...values: readonly unknown[]): void =>
    logger[level](values.map(shown).join(" "));
  const silent = Object.keys(browsers).map((name) => [name, (): void => undefined]);
  const info = writing("info");
  const error = writing("error");
  return {
    ...(Object.fromEntries(silent) as Console),
    debug: writing("debug"),
    trace: writing("debug"),
    log: info,
    info,
    dir: info,
    table: info,
    group: info,
    groupCollapsed: info,
    warn: writing("warn"),
    error,
    assert: (holds, ...values) => void (holds || error("Assertion failed:", ...values)),
  };
}

function shown(value: unknown): string {
  if (typeof value !== "object" || value === null || value instanceof Error) {
    return describe(value);
  }
  try {
    return JSON.stringify(value, plain) ?? describe(value);
  } catch {
    return describe(value);
  }
}

/** What JSON has not: as a text, or as the list of its entries. */
function plain(_: string, value: unknown): unknown {
  if (value instanceof Map || value instanceof Set) {
    return [...value];
  }
  return typeof value === "bigint" || value instanceof Error ? describe(value) : value;
}
