import type { Connection } from "./connection.js";
import { button, element, say } from "./dom.js";
import { buildReport } from "./wire.js";

/** Reports that the page was rebuilt, or could not be; never reloads by itself. */
export class BuildNotice {
  readonly element: HTMLElement;
  readonly #words = element("p", { id: "build-words" });
  readonly #errors = element("pre", { id: "build-errors", hidden: "" });
  readonly #reload: HTMLButtonElement;

  constructor(connection: Connection, reload: () => void) {
    this.#reload = button("Reload", { id: "reload", class: "primary" }, reload);
    this.element = element(
      "div",
      { id: "build-notice", class: "notice", role: "status", hidden: "" },
      element("div", { class: "row" }, this.#words, this.#reload),
      this.#errors,
    );
    connection.pushes.listen(({ event, data }) => {
      if (event === "build") {
        this.#show(data);
      }
    });
  }

  #show(data: unknown): void {
    const { ok, plugins, errors } = buildReport(data);
    this.element.hidden = false;
    this.element.dataset["ok"] = String(ok);
    const count = plugins.length === 1 ? "1 plugin" : `${plugins.length} plugins`;
    say(
      this.#words,
      ok
        ? `The page was rebuilt with ${count}. Reload it to use the changes.`
        : "The page could not be rebuilt. It continues with the previous bundle.",
    );
    say(this.#errors, errors.join("\n"));
    this.#reload.hidden = !ok;
  }
}
