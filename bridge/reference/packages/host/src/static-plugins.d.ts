/**
 * The table the daemon generates: every installed plugin, compiled in.
 *
 * With the profile's `lazy_table`, `load` evaluates a plugin's `main.ts`; without it,
 * each was evaluated before the host, and `plugin` is its default export.
 *
 * What is in it was written by others, so the host checks it before it believes it.
 */
export declare const COMPILED_PLUGINS: readonly (
  | { readonly manifest: unknown; readonly load: () => Promise<{ readonly default?: unknown }> }
  | { readonly manifest: unknown; readonly plugin: unknown }
)[];
