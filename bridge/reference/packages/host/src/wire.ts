/** Reading what comes from the daemon: anything may be missing or of another type. */

type Fields = { readonly [name: string]: unknown };

/** The fields of a JSON object; none when it is something else. */
export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {};
}

export function text(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function texts(value: unknown): readonly string[] {
  return list(value).filter((item): item is string => typeof item === "string");
}

/** The value of a JSON text; `undefined` when it is none. */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

/** An installed plugin, as the daemon lists it. */
export interface Installed {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Why it is left out of the bundle; empty when it is not. */
  readonly broken: string;
}

/** The result of `plugins/list`, or the data of a `plugins` push. */
export function installedPlugins(data: unknown): readonly Installed[] {
  const { plugins, broken } = fields(data);
  const whole = list(plugins).map(fields).map((entry) => ({
    id: text(entry["id"]),
    name: text(entry["name"]) || text(entry["id"]),
    version: text(entry["version"]),
    description: text(entry["description"]),
    broken: "",
  }));
  const rest = list(broken).map(fields).map((entry) => ({
    id: text(entry["id"]),
    name: text(entry["id"]),
    version: "",
    description: "",
    broken: text(entry["reason"], "unusable"),
  }));
  return [...whole, ...rest].filter((entry) => entry.id !== "");
}

/** A plugin that is behind its repository. */
export interface Update {
  readonly id: string;
  /** A lower bound once it reaches 50. */
  readonly commitsBehind: number;
  /** One line for each commit, newest first. */
  readonly changelog: readonly string[];
}

/** The result of `plugins/check_updates`. */
export function availableUpdates(data: unknown): readonly Update[] {
  return list(fields(data)["updates"]).map(fields).map((entry) => ({
    id: text(entry["id"]),
    commitsBehind: Number(entry["commitsBehind"]) || 0,
    changelog: list(entry["changelog"]).map(fields).map((commit) =>
      [text(commit["time"]).slice(0, 10), text(commit["summary"])].join("  ").trim(),
    ),
  }));
}

/** The progress of an operation. */
export interface Progress {
  readonly op: string;
  /** The plugin's id; empty while it is not known. */
  readonly id: string;
  readonly step: string;
  readonly message: string;
}

/** The data of a `progress` push. */
export function progress(data: unknown): Progress {
  const { op, id, step, message } = fields(data);
  return { op: text(op), id: text(id), step: text(step), message: text(message) };
}

/** The result of a build. */
export interface BuildReport {
  readonly ok: boolean;
  /** The ids in the bundle. */
  readonly plugins: readonly string[];
  readonly errors: readonly string[];
}

/** The data of a `build` push. */
export function buildReport(data: unknown): BuildReport {
  const { ok, plugins, errors } = fields(data);
  return { ok: ok === true, plugins: texts(plugins), errors: texts(errors) };
}
