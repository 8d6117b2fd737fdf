import { fields, text, texts } from "./wire.js";

/** What the host needs of a `plugin.json`. */
export interface Manifest {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly permissions: readonly string[];
  /** Those that the plugin can do without; the user is asked before either is used. */
  readonly optionalPermissions: readonly string[];
  readonly hosts: readonly string[];
  readonly events: readonly string[];
  readonly actions: readonly string[];
  /** The plugins that have to run before it. */
  readonly dependencies: readonly string[];
}

// Under these the page and the daemon write their own lines of the log.
const OWN_IDS = ["host", "bridge"];

/** Read a manifest; `undefined` when it has no usable id. */
export function readManifest(value: unknown): Manifest | undefined {
  const manifest = fields(value);
  const id = text(manifest["id"]);
  if (!/^[a-z0-9][a-z0-9-]{1,39}$/.test(id) || OWN_IDS.includes(id)) {
    return undefined;
  }
  const permissions = texts(manifest["permissions"]);
  const optional = texts(manifest["optionalPermissions"]);
  return {
    id,
    name: text(manifest["name"]) || id,
    version: text(manifest["version"], "0.0.0"),
    description: text(manifest["description"]),
    permissions,
    optionalPermissions: optional.filter((permission) => !permissions.includes(permission)),
    hosts: texts(manifest["hosts"]),
    events: texts(manifest["events"]),
    actions: texts(manifest["actions"]),
    dependencies: texts(manifest["dependencies"]),
  };
}
