/** A report to attach to a question; holds neither secrets nor what was visited. */

import { type Line, lineText } from "./logbuffer.js";
import type { Row } from "./rows.js";

const LINES = 200;
// What a code or a key has of each.
const SECRET = [/\d/, /[a-z]/, /[A-Z]/];

export interface Facts {
  readonly daemon: string;
  readonly api: string;
  readonly browser: string;
  readonly state: string;
  readonly closes: readonly string[];
  readonly rows: readonly Row[];
  readonly targets: readonly { readonly name: string; readonly health: string }[];
  readonly lines: readonly Line[];
}

/** Write the report. */
export function diagnostics(facts: Facts): string {
  const text = [
    `daemon ${facts.daemon || "unknown"}, plugin API ${facts.api}`,
    `browser ${facts.browser}`,
    `connection ${facts.state}`,
    section("last closes", facts.closes),
    section(
      "plugins",
      facts.rows.map(({ id, version, status, details }) =>
        [id, version, status, details].filter((word) => word !== "").join(" "),
      ),
    ),
    section(
      "notification targets",
      facts.targets.map(({ name, health }) => `${name} ${health}`),
    ),
    section("log", facts.lines.slice(-LINES).map(lineText)),
  ];
  return redacted(text.join("\n"));
}

function section(title: string, lines: readonly string[]): string {
  const body = lines.length === 0 ? ["none"] : lines;
  return [`\n${title}:`, ...body.map((line) => `  ${line.replace(/\n/g, "\n    ")}`)].join("\n");
}

/** Remove the paths of addresses, directories, and what may be a secret, in linear time. */
export function redacted(text: string): string {
  return text
    .replace(/\b((?:https?|wss?):\/\/)(?:[^\s/@]*@)?([^\s/"'<>)\]]+)[^\s"'<>)\]]*/g, "$1$2/…")
    .replace(/[\\/](?:home|Users)[\\/]+[^\s\\/"'<>:]+/g, "/…")
    .replace(/(?<![\w/:.])\/(?:[^\s/"'<>]+\/)+/g, "/…/")
    .replace(/[\w-]{32,}/g, (word) => (SECRET.every((kind) => kind.test(word)) ? "…" : word));
}
