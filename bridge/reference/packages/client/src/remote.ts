/** Answering the snippets that a developer has evaluated in the page. */

import { fields, text } from "./json.js";
import { plain, plainText, stringForm } from "./plainvalue.js";

const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Evaluates a snippet, the body of an async function; what it throws is the answer. */
export type Evaluate = (code: string) => unknown;

type Answer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string };

type Send = (params: { readonly id: string } & Answer) => Promise<unknown>;

/**
 * Answer the data of a `remote` event.
 *
 * @param send Calls `remote/result`.
 */
export async function answerRemote(data: unknown, evaluate: Evaluate, send: Send): Promise<void> {
  const { id, code } = fields(data);
  if (typeof id !== "string" || !ID.test(id)) {
    return;
  }
  await send({ id, ...(await evaluated(evaluate, text(code))) });
}

async function evaluated(evaluate: Evaluate, code: string): Promise<Answer> {
  try {
    return { ok: true, value: plain(await evaluate(code)) };
  } catch (thrown) {
    const named = thrown instanceof Error;
    const error = named ? `${thrown.name}: ${thrown.message}` : stringForm(thrown);
    return { ok: false, error: plainText(error) };
  }
}
