/** What the page hands out to plugins: nothing of it leads further, or can be replaced. */

/**
 * Make a frozen record without a prototype, of functions, of primitives or of such records.
 *
 * @param body Answers the property `body`; it is not listed with the others.
 */
export function frozen<T extends object>(members: Omit<T, "body">, body?: () => unknown): T {
  const record = Object.create(null) as T;
  for (const [name, member] of Object.entries(members)) {
    Object.defineProperty(record, name, { value: Object.freeze(member), enumerable: true });
  }
  if (body !== undefined) {
    Object.defineProperty(record, "body", { get: Object.freeze(body) });
  }
  return Object.freeze(record);
}
