/**
 * Evaluating snippets the daemon pushes, which it does only with `--dev`.
 *
 * The page's content security policy forbids it unless the page was served for that.
 */

import type { Later } from "./environment.js";

/** What a snippet can use, by name. */
export type Scope = { readonly [name: string]: unknown };

type Snippet = (...values: unknown[]) => Promise<unknown>;

/** Return what evaluates the body of an async function in a scope. */
export function evaluator(scope: Scope): (code: string) => Promise<unknown> {
  return async (code) => {
    const body = `return (async () => {\n${code}\n})();`;
    const snippet = new Function(...Object.keys(scope), body) as Snippet;
    return snippet(...Object.values(scope));
  };
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
