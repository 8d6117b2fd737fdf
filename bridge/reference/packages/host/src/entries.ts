/** The entries of a namespace of the daemon's state. */

import type { Json } from "@bridge/plugin-api";

import { type Caller, UnansweredError } from "./link.js";
import type { Values } from "./settings.js";

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
    const mayBeDone = e instanceof UnansweredError;
    if (!mayBeDone || JSON.stringify((await read())[key]) !== JSON.stringify(value)) {
      throw e;
    }
  }
}
