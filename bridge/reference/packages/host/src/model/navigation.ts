/** What of the page is shown, as the address names it after `#`. */

import { Signal } from "../signal.js";

export const PLUGIN_PAGES = ["", "update", "settings", "permissions"] as const;
export type PluginPage = (typeof PLUGIN_PAGES)[number];

const VIEWS = ["home", "plugins", "add", "keys", "log", "settings"] as const;

export type Route =
  | { readonly view: (typeof VIEWS)[number] }
  | { readonly view: "plugin"; readonly id: string; readonly page: PluginPage };

/** The route of a plugin. */
export function pluginRoute(id: string, page: PluginPage = ""): Route {
  return { view: "plugin", id, page };
}

/** The route that a fragment names; `undefined` when it names none. */
export function readRoute(fragment: string): Route | undefined {
  const [view = "", id = "", page = "", ...rest] = fragment.replace(/^#?\/?/, "").split("/");
  if (rest.length > 0) {
    return undefined;
  }
  if (view === "plugins" && /^[a-z0-9][a-z0-9-]{1,39}$/.test(id)) {
    const known = PLUGIN_PAGES.find((name) => name === page);
    return known === undefined ? undefined : pluginRoute(id, known);
  }
  const known = VIEWS.find((name) => name === view);
  return known === undefined || id !== "" ? undefined : { view: known };
}

/** The fragment of a route. */
export function fragmentOf(route: Route): string {
  if (route.view !== "plugin") {
    return `#/${route.view}`;
  }
  return `#/plugins/${route.id}${route.page === "" ? "" : `/${route.page}`}`;
}

/** Whether both show the same. */
export function sameRoute(one: Route, other: Route): boolean {
  return fragmentOf(one) === fragmentOf(other);
}

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
  #focus = "";

  constructor(bar: AddressBar) {
    this.#bar = bar;
    this.#route = readRoute(bar.read());
  }

  /** What is shown; `undefined` when the address names nothing. */
  get route(): Route | undefined {
    return this.#route;
  }

  /**
   * Show something; `focus` selects what then has the focus, instead of the title. Who has left
   * `from` meanwhile is not moved.
   */
  go(route: Route, focus = "", from = this.#route): void {
    if (from !== this.#route) {
      return;
    }
    this.#focus = focus;
    this.#bar.write(fragmentOf(route));
  }

  /** What is to have the focus now that another view is shown; empty for its title. */
  takeFocus(): string {
    const focus = this.#focus;
    this.#focus = "";
    return focus;
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
      if (!(await this.mayLeave())) {
        return;
      }
      if (route !== undefined) {
        this.#bar.write(fragmentOf(route));
      }
    }
    this.#route = route;
    this.changed.emit();
  }

  /** Whether something would be lost if what is shown were left. */
  get isGuarded(): boolean {
    return this.#guard !== undefined;
  }

  /** Ask whether what is shown may be left; after a yes, nothing asks again. */
  async mayLeave(): Promise<boolean> {
    const leaves = this.#guard === undefined || (await this.#guard());
    if (leaves) {
      this.#guard = undefined;
    }
    return leaves;
  }

  /** Ask before what is shown is left; `undefined` to ask no more. */
  guard(mayLeave: (() => Promise<boolean>) | undefined): void {
    this.#guard = mayLeave;
  }
}
