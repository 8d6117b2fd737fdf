/** Reading what comes from elsewhere: anything may be missing or of another type. */

type Fields = { readonly [name: string]: unknown };

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

export function texts(value: unknown): readonly string[] {
  return list(value).filter((item): item is string => typeof item === "string");
}
