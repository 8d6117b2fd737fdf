/**
 * Evaluating snippets the daemon pushes, which it does only with `--dev`.
 *
 * The page's content security policy forbids it unless the page was served for that.
 */

import { BridgeError } from "@bridge/plugin-api";

import type { Connection } from "./connection.js";
import { HOST_SCOPE, type Log, describe } from "./log.js";
import { plain, plainText, stringForm } from "./plainvalue.js";
import type { Later } from "./environment.js";
import { fields, text } from "./wire.js";

const ID = /^[A-Za-z0-9_-]{22}$/;

/** What a snippet can use, by name. */
export type Scope = { readonly [name: string]: unknown };

export type Answer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string };

type Snippet = (...values: unknown[]) => Promise<unknown>;
const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new (
  ...namesAndBody: string[]
) => Snippet;

/**
 * Evaluate the body of an async function.
 *
 * @returns What it returns, or the name and message of what it throws.
 */
export async function evaluate(code: string, scope: Scope): Promise<Answer> {
  try {
    const snippet = new AsyncFunction(...Object.keys(scope), code);
    return { ok: true, value: plain(await snippet(...Object.values(scope))) };
  } catch (e) {
    const error = e instanceof Error ? describe(e) : stringForm(e);
    return { ok: false, error: plainText(error) };
  }
}

/** Answer every snippet that is pushed. */
export function answerSnippets(
  connection: Pick<Connection, "call" | "pushes">,
  scope: Scope,
  log: Log,
): void {
  const answer = async (data: unknown): Promise<void> => {
    const { id, code } = fields(data);
    if (!ID.test(text(id))) {
      log.add("warn", HOST_SCOPE, "a snippet without a usable id is ignored");
      return;
    }
    const found = await evaluate(text(code), scope);
    try {
      await connection.call("remote", "result", { id, ...found });
    } catch (e) {
      // Such as a value that is nested too deep for a frame.
      if (e instanceof BridgeError && e.code === "bad_request") {
        const error = `the daemon takes no such value: ${e.message}`;
        await connection.call("remote", "result", { id, ok: false, error });
      }
    }
  };
  connection.pushes.listen(({ event, data }) => {
    if (event === "remote") {
      answer(data).catch((e: unknown) => log.add("warn", HOST_SCOPE, describe(e)));
    }
  });
}

/** What a snippet can do to the page besides using the host's objects. */
export function pageTools(later: Later): Scope {
  return {
    /** The text of the first match; null when nothing matches. */
    text: (selector: string) =>
      document.querySelector(selector)?.textContent?.trim() ?? null,
    click: (selector: string) => {
      const found = document.querySelector(selector);
      if (!(found instanceof HTMLElement)) {
        throw new Error("nothing to click on matches the selector");
      }
      found.click();
    },
    /** Whether the first match is shown; false when nothing matches. */
    visible: (selector: string) =>
      document.querySelector(selector)?.checkVisibility() ?? false,
    /** Where every match is, in CSS pixels of the viewport. */
    rects: (selector: string) =>
      [...document.querySelectorAll(selector)].map((found) => {
        const { x, y, width, height } = found.getBoundingClientRect();
        return { x, y, width, height };
      }),
    sleep: (milliseconds: number) =>
      new Promise<void>((resolve) => later(milliseconds, resolve)),
  };
}
