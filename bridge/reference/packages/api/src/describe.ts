/** Describe an error as the page's log does; a plugin may throw anything. */
export function describe(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return "an error that cannot be shown";
  }
}
