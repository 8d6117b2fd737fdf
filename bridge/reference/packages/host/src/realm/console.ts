/** The console of a plugin: its lines are those of its log, and share their number. */

import type { Logger } from "@bridge/plugin-api";

import { describe } from "../../../api/src/describe.js";

/**
 * Return a console that writes to the plugin's log.
 *
 * @param browsers The browser's; of what it has, tables and timers write nothing here.
 */
export function consoleOf(logger: Logger, browsers: Console): Console {
  const writing = (level: keyof Logger) => (...values: readonly unknown[]): void =>
    logger[level](values.map(shown).join(" "));
  const silent = Object.keys(browsers).map((name) => [name, (): void => undefined]);
  return {
    ...(Object.fromEntries(silent) as Console),
    debug: writing("debug"),
    trace: writing("debug"),
    log: writing("info"),
    info: writing("info"),
    warn: writing("warn"),
    error: writing("error"),
  };
}

function shown(value: unknown): string {
  if (typeof value !== "object" || value === null || value instanceof Error) {
    return describe(value);
  }
  try {
    return JSON.stringify(value) ?? describe(value);
  } catch {
    return describe(value);
  }
}
