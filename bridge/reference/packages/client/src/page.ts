/** The page the client runs in; a program without one is always visible. */

import type { Cancel } from "./clock.js";

export interface Page {
  readonly hidden: boolean;
  /** Call `listener` when the page is shown or hidden. */
  onVisibility(listener: () => void): Cancel;
  /** Call `listener` when the page may be about to end. */
  onLeave(listener: () => void): Cancel;
}

const nothing: Cancel = () => undefined;

const noPage: Page = {
  hidden: false,
  onVisibility: () => nothing,
  onLeave: () => nothing,
};

function listening(target: EventTarget, name: string, listener: () => void): Cancel {
  target.addEventListener(name, listener);
  return () => target.removeEventListener(name, listener);
}

/** The browser's page, when there is one. */
export function currentPage(): Page {
  if (typeof document === "undefined" || typeof window === "undefined") {
    return noPage;
  }
  return {
    get hidden() {
      return document.hidden;
    },
    onVisibility: (listener) => listening(document, "visibilitychange", listener),
    onLeave: (listener) => listening(window, "pagehide", listener),
  };
}
