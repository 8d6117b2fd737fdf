import { list } from "../../client/src/json.js";

export { fields, list, text } from "../../client/src/json.js";

/** The texts of a list; everything else in it is left out. */
export function texts(value: unknown): readonly string[] {
  return list(value).filter((item): item is string => typeof item === "string");
}
