/** What the daemon tells of plugins. */

import type { Differences, ListEntry, Result } from "../../../client/src/index.js";

export type Preview = Result<"plugins/preview">;

/** What is known of a plugin whose tree is gone: why. */
function without(id: string, problem: string): ListEntry {
  return {
    id,
    name: id,
    version: "",
    apiVersion: "",
    description: "",
    tags: [],
    permissions: [],
    optionalPermissions: [],
    actions: [],
    events: [],
    hosts: [],
    dependencies: [],
    url: "",
    commit: "",
    installedAt: "",
    updatedAt: "",
    keyId: "",
    problem,
  };
}

/**
 * Every installed plugin once.
 *
 * One that is left out of the bundle is usually in both of the daemon's lists.
 */
export function entriesOf({ plugins, broken }: Result<"plugins/list">): readonly ListEntry[] {
  const ids = new Set(plugins.map(({ id }) => id));
  const others = broken.filter(({ id }) => !ids.has(id));
  return [...plugins, ...others.map(({ id, reason }) => without(id, reason))];
}

/** Whether an update asks for more than the installed version. */
export function gains(changes: Differences): boolean {
  return Object.values(changes).some(({ gained }) => gained.length > 0);
}

/** Whether an update is signed with another key than the installed version. */
export function changesKey({ installed, key }: Pick<Preview, "installed" | "key">): boolean {
  return ![undefined, "", key.keyId].includes(installed?.keyId);
}
