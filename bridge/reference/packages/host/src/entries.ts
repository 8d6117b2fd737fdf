/** The entries of a namespace of the daemon's state. */

import type { BridgeError, Json } from "@bridge/plugin-api";

import type { Caller } from "./link.js";
import type { Values } from "./settings.js";

// After these, it may have been done all the same.
const LOST: readonly string[] = ["timeout", "disconnected"];

export async function readEntries(caller: Caller, ns: string): Promise<Values> {
  return (await caller.call("state/list", { ns })).entries as Values;
}

/**
 * Set an entry, or remove it where there is no value; rejects when that is not done.
 *
 * @param read Reads the entries until the daemon answers, when an answer was lost.
 */
export async function storeEntry(
  caller: Caller,
  ns: string,
  key: string,
  value: Json | undefined,
  read: () => Promise<Values>,
): Promise<void> {
  try {
    await caller.call(value === undefined ? "state/delete" : "state/set", { ns, key, value });
  } catch (e) {
    const isLost = LOST.includes((e as BridgeError).code);
    if (!isLost || JSON.stringify((await read())[key]) !== JSON.stringify(value)) {
      throw e;
    }
  }
}
