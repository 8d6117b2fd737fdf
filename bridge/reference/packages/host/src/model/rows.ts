import type { ListEntry } from "../../../client/src/index.js";
import { ORDER, shownNames } from "../names.js";
import type { PluginState } from "../pageruntime.js";
import type { Stage } from "../plugins.js";
import { WAITING_WORDS } from "./words.js";

export type Status =
  | Stage
  | "changed"
  | "left-out"
  | "new"
  | "silent";

/** One plugin, as the list shows it; a plugin has one row, whatever is known of it. */
export interface Row {
  readonly id: string;
  /** As it is shown; see `names.ts`. */
  readonly name: string;
  /** Of what runs, or else of what is installed. */
  readonly version: string;
  /** What is installed; `undefined` when that is nothing, or not known. */
  readonly entry: ListEntry | undefined;
  readonly status: Status;
  /** The status in a sentence. */
  readonly words: string;
  /** What a developer may want to know about it; often empty. */
  readonly details: string;
  readonly enabled: boolean;
  /** Whether a reload changes it. */
  readonly reload: boolean;
}

/**
 * Merge the installed plugins and those of this page's bundle.
 *
 * @param entries What is installed; `undefined` while that is not known.
 * @param isChanged Whether a plugin was installed again since the page was loaded.
 * @param switchOf Whether a plugin that is not in the bundle is switched on.
 */
export function rowsOf(
  entries: readonly ListEntry[] | undefined,
  compiled: readonly PluginState[],
  isChanged: (id: string) => boolean,
  switchOf: (id: string) => boolean,
): readonly Row[] {
  const byId = new Map(compiled.map((plugin) => [plugin.id, plugin]));
  const installed = (entries ?? []).map((entry) => {
    const plugin = byId.get(entry.id);
    byId.delete(entry.id);
    const here = plugin?.stage === "removed" ? undefined : plugin;
    return installedRow(entry, here, isChanged(entry.id), switchOf(entry.id));
  });
  const rest = [...byId.values()].map((plugin) => leftRow(plugin, entries !== undefined));
  const rows = [...installed, ...rest];
  const names = shownNames(rows);
  return rows
    .map((row) => ({ ...row, name: names.get(row.id) ?? row.name }))
    .sort((one, other) => ORDER.compare(one.name, other.name));
}

type Shown = Pick<Row, "status" | "words" | "reload"> & { readonly details?: string };

function installedRow(
  entry: ListEntry,
  plugin: PluginState | undefined,
  changed: boolean,
  on: boolean,
): Row {
  const shown = plugin === undefined ? absent(entry, on) : present(entry, plugin, changed);
  return {
    id: entry.id,
    name: entry.name,
    version: plugin?.version || entry.version,
    entry,
    details: "",
    enabled: plugin?.enabled ?? on,
    ...shown,
  };
}

function absent({ problem }: ListEntry, on: boolean): Shown {
  if (problem !== undefined) {
    const words = "It can't be built, so it isn't in this page.";
    return { status: "left-out", words, reload: false, details: problem };
  }
  return on
    ? { status: "new", words: "Starts after a reload.", reload: true }
    : { status: "off", words: STAGES.off, reload: false };
}

function present(entry: ListEntry, plugin: PluginState, changed: boolean): Shown {
  if (entry.problem !== undefined) {
    const words = `${plugin.version} is running. The installed one can't be built.`;
    return { status: "left-out", words, reload: false, details: entry.problem };
  }
  if (plugin.stage === "running" && (entry.version !== plugin.version || changed)) {
    const next = entry.version === plugin.version ? "the changed one" : entry.version;
    const words = `${plugin.version} is running; ${next} starts after a reload.`;
    return { status: "changed", words, reload: true };
  }
  const isOff = plugin.stage === "suspended" && !plugin.enabled;
  return { ...of(isOff ? { ...plugin, stage: "off" } : plugin), reload: changed };
}

function leftRow(plugin: PluginState, known: boolean): Row {
  const shown: Shown = known
    ? { status: "removed", words: STAGES.removed, reload: true }
    : of(plugin);
  const { id, name, version, enabled } = plugin;
  return { id, name, version, entry: undefined, details: "", enabled, ...shown };
}

const STAGES: { readonly [stage in Exclude<Stage, "stopped">]: string } = {
  waiting: WAITING_WORDS,
  starting: "Starting…",
  running: "Running.",
  failed: "Didn't start.",
  off: "Off, still installed.",
  removed: "Removed. It disappears after a reload.",
  suspended: "Doesn't run in safe mode.",
  paused: "Waits while it is found out which plugin stops all of them.",
};

function of({ stage, error, silent }: PluginState): Shown {
  if (silent) {
    const words = "Doesn't answer. Turn it off to stop it.";
    return { status: "silent", words, reload: false, details: error };
  }
  if (stage === "stopped") {
    return { status: stage, words: `Stopped: ${error}.`, reload: false };
  }
  return { status: stage, words: STAGES[stage], reload: false, details: error };
}

/** Whether a plugin is on and waits for the user to start it again. */
export function isToStart({ status, enabled }: Row): boolean {
  return (status === "stopped" || status === "failed") && enabled;
}

/** The version and the status of a row, which may name the version itself. */
export function versionAndWords({ version, words }: Row): readonly [string, string] {
  return [words.startsWith(version) ? "" : version, words];
}

/** The rows that a search and a tag leave. */
export function matching(rows: readonly Row[], search: string, tag: string): readonly Row[] {
  const words = search.toLowerCase().split(/\s+/);
  return rows.filter(({ id, name, entry }) => {
    const tags = entry?.tags ?? [];
    const all = [id, name, entry?.description, entry?.author, ...tags].join(" ").toLowerCase();
    return (tag === "" || tags.includes(tag)) && words.every((word) => all.includes(word));
  });
}
