/** The entries of a namespace of the daemon's state. */

import type { Json } from "@bridge/plugin-api";

import type { Caller } from "./link.js";
import type { Values } from "./settings.js";

export async function readEntries(caller: Caller, ns: string): Promise<Values> {
  return (await caller.call("state/list", { ns })).entries as Values;
}

/** Set an entry, or remove it where there is no value. */
export async function storeEntry(
  caller: Caller,
  ns: string,
  key: string,
  value: Json | undefined,
): Promise<void> {
  await caller.call(value === undefined ? "state/delete" : "state/set", { ns, key, value });
}
