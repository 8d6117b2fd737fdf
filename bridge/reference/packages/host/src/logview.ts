import { element } from "./dom.js";
import type { Log, LogRecord } from "./log.js";

const SHOWN_LINES = 200;

/** The newest lines of the page's log and of the daemon's. */
export class LogView {
  readonly element: HTMLElement;
  readonly #lines = element("ol", { id: "log-lines", tabindex: "0", "aria-label": "Log" });

  constructor(log: Log) {
    this.element = element(
      "details",
      { id: "log", class: "panel" },
      element("summary", { id: "log-toggle" }, "Log"),
      this.#lines,
    );
    log.recorded.listen((record) => this.#add(record));
  }

  #add({ level, scope, message, ts }: LogRecord): void {
    const time = new Date(ts).toTimeString().slice(0, 8);
    this.#lines.append(
      element(
        "li",
        { "data-level": level },
        element("time", {}, time),
        element("span", { class: "scope" }, scope),
        element("span", {}, message),
      ),
    );
    if (this.#lines.childElementCount > SHOWN_LINES) {
      this.#lines.firstElementChild?.remove();
    }
  }
}
