import { button, element } from "./dom.js";

/** Asks the user one question after another; closing a question means no. */
export class Questions {
  readonly element = element("dialog", {
    id: "question",
    "aria-labelledby": "question-title",
  });
  #asked: Promise<unknown> = Promise.resolve();

  /** Ask; resolves to whether the answer was yes. */
  ask(question: string, detail: string): Promise<boolean> {
    const answer = this.#asked.then(() => this.#show(question, detail));
    this.#asked = answer;
    return answer;
  }

  #show(question: string, detail: string): Promise<boolean> {
    const dialog = this.element;
    const answer = (value: string) => () => dialog.close(value);
    dialog.replaceChildren(
      element("h2", { id: "question-title" }, question),
      element("p", { id: "question-detail" }, detail),
      element(
        "div",
        { class: "row end" },
        button("Not now", { id: "question-no" }, answer("no")),
        button("Allow", { id: "question-yes", class: "primary" }, answer("yes")),
      ),
    );
    dialog.returnValue = "no";
    dialog.showModal();
    return new Promise((resolve) => {
      dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), {
        once: true,
      });
    });
  }
}
