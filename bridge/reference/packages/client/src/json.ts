/** Reading what comes from the daemon: anything may be missing or of another type. */

export type Fields = { readonly [name: string]: unknown };

/** The fields of a JSON object; none when it is something else. */
export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {};
}

export function text(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value of a JSON text; `undefined` when it is none. */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

/** Replace halves of surrogate pairs in JSON: they are not text, and are refused. */
export function wellFormed(json: string): string {
  return json.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|.)/g, (escape, half?: string) =>
    half === undefined ? escape : "\ufffd",
  );
}
