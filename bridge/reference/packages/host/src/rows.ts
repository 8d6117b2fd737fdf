import type { Compiled, Stage } from "./plugins.js";
import type { Installed } from "./wire.js";

/** The status of a plugin in the list. */
export type Status = Stage | "broken" | "needs-reload" | "uninstalled";

/** One line of the list of plugins. */
export interface Row {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly status: Status;
  /** The status as a person reads it. */
  readonly words: string;
  /** Whether the daemon has it, so that it can be uninstalled. */
  readonly installed: boolean;
}

const STAGES: { readonly [stage in Stage]: string } = {
  waiting: "Waiting for the daemon",
  starting: "Starting",
  running: "Running",
  failed: "Failed to start",
  off: "Off, still installed",
  held: "Not started: the page is in safe mode",
};

/**
 * Merge the installed plugins and those of this bundle.
 *
 * @param installed What the daemon lists; `undefined` while that is not known.
 */
export function rows(
  installed: readonly Installed[] | undefined,
  compiled: readonly Compiled[],
): readonly Row[] {
  const byId = new Map(compiled.map((plugin) => [plugin.manifest.id, plugin]));
  const listed = (installed ?? []).map((entry) => {
    const plugin = byId.get(entry.id);
    byId.delete(entry.id);
    return { ...entry, ...standing(entry, plugin), installed: true };
  });
  const rest = [...byId.values()].map(({ manifest, stage, error }) => ({
    ...manifest,
    ...(installed === undefined
      ? { status: stage, words: worded(stage, error) }
      : {
          status: "uninstalled" as const,
          words: "Uninstalled; disappears after a reload",
        }),
    installed: false,
  }));
  return [...listed, ...rest];
}

function standing(
  entry: Installed,
  compiled: Compiled | undefined,
): Pick<Row, "status" | "words"> {
  if (entry.broken !== "") {
    return { status: "broken", words: `Not in the page: ${entry.broken}` };
  }
  if (compiled === undefined) {
    return { status: "needs-reload", words: "Installed; starts after a reload" };
  }
  const { stage, error, manifest } = compiled;
  if (stage === "running" && manifest.version !== entry.version) {
    const words = `Running ${manifest.version}; ${entry.version} starts after a reload`;
    return { status: "needs-reload", words };
  }
  return { status: stage, words: worded(stage, error) };
}

function worded(stage: Stage, error: string): string {
  return error === "" ? STAGES[stage] : `${STAGES[stage]}: ${error}`;
}
