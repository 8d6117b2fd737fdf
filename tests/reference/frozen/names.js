// How paths name properties.

export const isObject = (value) => Object(value) === value;

/** Name a key as the maintained list does. */
export function shown(key) {
  return typeof key === "symbol" ? `@@${key.description.replace("Symbol.", "")}` : key;
}

/** Return the key that the maintained list names so. */
export function keyOf(written) {
  if (written === "--proto--") return "__proto__";
  return written.startsWith("@@") ? Symbol[written.slice(2)] : written;
}
