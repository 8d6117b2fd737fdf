import { Signal } from "../signal.js";
import { type Route, fragmentOf, readRoute, sameRoute } from "./route.js";

/** The part of the browser that the navigation uses. */
export interface AddressBar {
  read(): string;
  write(fragment: string): void;
}

/** What of the page is shown. */
export class Navigation {
  readonly changed = new Signal();
  readonly #bar: AddressBar;
  #route: Route | undefined;
  #guard: (() => Promise<boolean>) | undefined;

  constructor(bar: AddressBar) {
    this.#bar = bar;
    this.#route = readRoute(bar.read());
  }

  /** What is shown; `undefined` when the address names nothing. */
  get route(): Route | undefined {
    return this.#route;
  }

  go(route: Route): void {
    this.#bar.write(fragmentOf(route));
  }

  /** The address has changed. */
  async follow(): Promise<void> {
    const route = readRoute(this.#bar.read());
    if (this.#guard !== undefined && this.#route !== undefined) {
      if (route !== undefined && sameRoute(route, this.#route)) {
        return;
      }
      const staying = this.#route;
      this.#bar.write(fragmentOf(staying));
      if (!(await this.#guard())) {
        return;
      }
      this.#guard = undefined;
      if (route !== undefined) {
        this.#bar.write(fragmentOf(route));
      }
    }
    this.#route = route;
    this.changed.emit();
  }

  /** Ask before what is shown is left; `undefined` to ask no more. */
  guard(mayLeave: (() => Promise<boolean>) | undefined): void {
    this.#guard = mayLeave;
  }
}
