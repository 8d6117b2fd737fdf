/**
 * The table the daemon generates: every installed plugin, compiled in.
 *
 * What is in it was written by others, so the host checks it before it believes it.
 */
export declare const COMPILED_PLUGINS: readonly {
  readonly manifest: unknown;
  readonly plugin: unknown;
}[];
