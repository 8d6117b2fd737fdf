import type { Params } from "./calls.js";
import type { Connection } from "./connection.js";
import { Signal } from "./signal.js";
import type { Later } from "./environment.js";
import { type Progress, progress } from "./wire.js";
import { inPlainWords } from "./wording.js";

const KEPT_LINES = 12;
// Another page's operation cannot last longer than one answer may take.
const FORGOTTEN_MILLISECONDS = 130_000;

/** The operation under way, of this page or another. */
export class Operations {
  readonly changed = new Signal();
  readonly #connection: Connection;
  readonly #later: Later;
  #running = "";
  #refusal = "";
  #steps: readonly Progress[] = [];
  #forget = (): void => {};

  constructor(connection: Connection, later: Later) {
    this.#connection = connection;
    this.#later = later;
    connection.pushes.listen(({ event, data }) => {
      if (event === "progress") {
        this.#advance(progress(data));
      } else if (event === "build" && this.#running === "") {
        this.#clear();
      }
    });
  }

  /** What this page asked for, such as `Installing`; empty when nothing runs. */
  get running(): string {
    return this.#running;
  }

  /** Why the last one failed, in plain words; empty when it did not. */
  get refusal(): string {
    return this.#refusal;
  }

  /** The steps so far; the last one is being done. */
  get steps(): readonly Progress[] {
    return this.#steps;
  }

  /**
   * Run one method of the service `plugins`.
   *
   * @returns Whether it succeeded; if not, `refusal` is the reason.
   */
  async run(title: string, method: string, params: Params): Promise<boolean> {
    this.#running = title;
    this.#refusal = "";
    this.#clear();
    try {
      await this.#connection.call("plugins", method, params);
      return true;
    } catch (e) {
      this.#refusal = inPlainWords(e);
      return false;
    } finally {
      this.#running = "";
      this.#clear();
    }
  }

  #advance(step: Progress): void {
    const last = this.#steps.at(-1);
    const goesOn = last?.op === step.op && last.step === step.step;
    this.#steps = [...(goesOn ? this.#steps.slice(0, -1) : this.#steps), step].slice(
      -KEPT_LINES,
    );
    this.#forget();
    if (this.#running === "") {
      this.#forget = this.#later(FORGOTTEN_MILLISECONDS, () => this.#clear());
    }
    this.changed.emit();
  }

  #clear(): void {
    this.#forget();
    this.#steps = [];
    this.changed.emit();
  }
}
