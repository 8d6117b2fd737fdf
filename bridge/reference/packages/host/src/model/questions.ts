import { Signal } from "../signal.js";

export interface Question {
  readonly title: string;
  readonly detail: string;
  readonly yes: string;
  readonly no: string;
  readonly danger: boolean;
}

/** Asks the user one question after another; closing a question means no. */
export class Questions {
  readonly changed = new Signal();
  #waiting: { readonly question: Question; readonly answer: (yes: boolean) => void }[] = [];

  /** The one that is asked now. */
  get current(): Question | undefined {
    return this.#waiting[0]?.question;
  }

  /** Ask; resolves to whether the answer was yes. */
  ask(
    title: string,
    detail: string,
    { yes = "Allow", no = "Not now", danger = false } = {},
  ): Promise<boolean> {
    return new Promise((answer) => {
      this.#waiting.push({ question: { title, detail, yes, no, danger }, answer });
      this.changed.emit();
    });
  }

  answer(yes: boolean): void {
    this.#waiting.shift()?.answer(yes);
    this.changed.emit();
  }
}
