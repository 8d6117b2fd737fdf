/**
 * The table the daemon generates: every installed plugin, compiled in.
 *
 * Each was evaluated before the host, and `plugin` is its default export.
 *
 * What is in it was written by others, so the host checks it before it believes it.
 */
export declare const COMPILED_PLUGINS: readonly {
  readonly manifest: unknown;
  readonly plugin: unknown;
}[];
