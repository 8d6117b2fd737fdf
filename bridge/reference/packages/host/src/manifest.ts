import { fields, text, texts } from "./wire.js";

/** What the host needs of a `plugin.json`. */
export interface Manifest {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Required and optional ones alike: the user is asked before either is used. */
  readonly permissions: readonly string[];
}

/** Read a manifest; `undefined` when it has no usable id. */
export function readManifest(value: unknown): Manifest | undefined {
  const manifest = fields(value);
  const id = text(manifest["id"]);
  if (!/^[a-z0-9][a-z0-9-]{1,39}$/.test(id)) {
    return undefined;
  }
  return {
    id,
    name: text(manifest["name"]) || id,
    version: text(manifest["version"], "0.0.0"),
    description: text(manifest["description"]),
    permissions: [
      ...texts(manifest["permissions"]),
      ...texts(manifest["optionalPermissions"]),
    ],
  };
}
