/**
 * The table the daemon generates: every installed plugin, as the text of its own bundle,
 * which assigns its exports to `plugin`.
 *
 * What is in it was written by others, so the host checks it before it believes it.
 */
export declare const COMPILED_PLUGINS: readonly {
  readonly manifest: unknown;
  readonly text: string;
  /** `sources` and `mappings` of the text's source map. */
  readonly map: unknown;
}[];

/** The text of `realm/runtime.ts`, which runs before a plugin's in its worker. */
export declare const REALM_RUNTIME: string;
