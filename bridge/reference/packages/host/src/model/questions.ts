import type { Later } from "../environment.js";
import { shownName } from "../names.js";
import type { Asker, Use } from "../permissions.js";
import { Signal } from "../signal.js";

/** What was pressed sooner was meant for something else. */
const UNREAD_MILLISECONDS = 500;
const NOES = 2;

export interface Question {
  readonly title: string;
  readonly detail: string;
  readonly yes: string;
  readonly no: string;
  readonly danger: boolean;
  /** The plugin that asks, by id; empty when the page does. */
  readonly plugin: string;
  /** Its name, as a question has it. */
  readonly name: string;
}

interface Asked {
  readonly question: Question;
  readonly about: string;
  readonly isAllowed: () => boolean;
  readonly answer: (yes: boolean) => void;
}

/**
 * Asks the user one question after another; closing a question means no.
 *
 * The page's own come first. Plugins take turns, and after two noes one asks no more until
 * the user lets it.
 */
export class Questions implements Asker {
  readonly changed = new Signal();
  readonly unsaved = new Signal<string>();
  readonly #later: Later;
  #waiting: readonly Asked[] = [];
  // What the user has said no to, by plugin.
  readonly #refused = new Map<string, Set<string>>();
  #isReadable = false;
  #cancelReading = (): void => undefined;

  constructor(later: Later) {
    this.#later = later;
  }

  /** The one that is asked now. */
  get current(): Question | undefined {
    return this.#waiting[0]?.question;
  }

  /** Whether the current one was shown for long enough to be answered. */
  get isReadable(): boolean {
    return this.#isReadable;
  }

  /** The current one was drawn, or something about it has changed on the screen. */
  shown(): void {
    this.#unread();
    this.#cancelReading = this.#later(UNREAD_MILLISECONDS, () => {
      this.#isReadable = true;
      this.changed.emit();
    });
    this.changed.emit();
  }

  /** Ask for the page; resolves to whether the answer was yes. */
  confirm(
    title: string,
    detail: string,
    { yes, no, danger = false }: Pick<Question, "yes" | "no"> & Partial<Question>,
  ): Promise<boolean> {
    return new Promise((answer) => {
      const question = { title, detail, yes, no, danger, plugin: "", name: "" };
      const [current, ...rest] = this.#waiting;
      const own = rest.filter((asked) => asked.question.plugin === "");
      const others = rest.filter((asked) => asked.question.plugin !== "");
      const asked = { question, about: "", isAllowed: () => false, answer };
      this.#wait([...(current === undefined ? [] : [current]), ...own, asked, ...others]);
    });
  }

  ask({ id, name, words, detail, ...asked }: Use): Promise<boolean> {
    if (this.isSilent(id) || this.#refused.get(id)?.has(asked.about) === true) {
      return Promise.resolve(false);
    }
    return new Promise((answer) => {
      const short = shownName(name);
      const title = `Let “${short}” ${words}?`;
      const answers = { yes: "Allow", no: "Not now", danger: false };
      const question = { title, detail, ...answers, plugin: id, name: short };
      this.#wait([...this.#waiting, { ...asked, question, answer }]);
    });
  }

  /** Whether a plugin asks no more, since the user has said no often enough. */
  isSilent(id: string): boolean {
    return (this.#refused.get(id)?.size ?? 0) >= NOES;
  }

  /** Let a plugin ask again, also what it was refused. */
  letAsk(id: string): void {
    this.#refused.delete(id);
    this.changed.emit();
  }

  /**
   * Answer a question.
   *
   * @returns Whether that counts: the question is the current one, and could be read.
   */
  answer(question: Question, yes: boolean): boolean {
    const [asked, ...rest] = this.#waiting;
    if (asked?.question !== question || !this.#isReadable) {
      return false;
    }
    const { plugin } = question;
    if (plugin !== "" && !yes) {
      this.#refused.set(plugin, (this.#refused.get(plugin) ?? new Set()).add(asked.about));
    }
    asked.answer(yes);
    // All others have their turn before its next one.
    const isOf = (one: Asked): boolean => plugin !== "" && one.question.plugin === plugin;
    this.#wait([...rest.filter((one) => !isOf(one)), ...rest.filter(isOf)]);
    if (this.isSilent(plugin)) {
      this.withdraw(plugin);
    }
    return true;
  }

  /** Ask no more what a plugin has asked, or with an empty id, the page itself. */
  withdraw(id: string): void {
    this.#settle(({ question }) => question.plugin === id, false);
  }

  /** Ask no more what the user has allowed meanwhile. */
  review(): void {
    this.#settle(({ isAllowed }) => isAllowed(), true);
  }

  #settle(which: (asked: Asked) => boolean, yes: boolean): void {
    const those = this.#waiting.filter(which);
    those.forEach(({ answer }) => answer(yes));
    this.#wait(this.#waiting.filter((asked) => !those.includes(asked)));
  }

  #wait(waiting: readonly Asked[]): void {
    if (waiting[0] !== this.#waiting[0]) {
      this.#unread();
    }
    this.#waiting = waiting;
    this.changed.emit();
  }

  #unread(): void {
    this.#cancelReading();
    this.#isReadable = false;
  }
}
