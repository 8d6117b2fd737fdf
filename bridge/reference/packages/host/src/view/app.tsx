/** @jsx h */
/** The whole page: navigation, one banner, and a view. */

import { Component, type ComponentChildren, h, render } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { HOST_SCOPE, describe } from "../log.js";
import type { Announcer } from "../model/announcer.js";
import type { PageModel } from "../model/model.js";
import { type Navigation, type Route, fragmentOf, readRoute } from "../model/navigation.js";
import { AddView } from "./add.js";
import { Banner, DestinationBanner } from "./banner.js";
import { ConnectView } from "./connect.js";
import { Dialog } from "./dialog.js";
import { KeysView } from "./keys.js";
import { LogView } from "./logview.js";
import { Actions, Button, ButtonLink, Title, useChanges } from "./parts.js";
import { PermissionsView } from "./permissions.js";
import { PluginView } from "./plugin.js";
import { PluginListView } from "./pluginlist.js";
import { PluginSettingsView } from "./pluginsettings.js";
import { SettingsView } from "./settings.js";
import { UpdateView } from "./update.js";

/** Draw the page into `root`, and again whenever something changes. */
export function showPage(root: HTMLElement, model: PageModel): void {
  root.replaceChildren();
  render(<App model={model} />, root);
}

export interface ViewProps {
  readonly model: PageModel;
}

function App({ model }: ViewProps) {
  useChanges(...model.signals);
  const connect = model.mustConnect;
  const route = model.route;
  const shown = connect ? "connect" : fragmentOf(route);
  useFocusOnTitle(shown, model.navigation);
  return (
    <div class="app" data-state={model.link.state}>
      <Header model={model} route={connect ? undefined : route} />
      <LiveRegions announcer={model.announcer} />
      <main>
        <DestinationBanner model={model} />
        {connect ? null : <Banner model={model} />}
        <Boundary model={model} shown={shown}>
          {connect ? <ConnectView model={model} /> : <Panes model={model} route={route} />}
        </Boundary>
        <HomeView model={model} shown={!connect && route.view === "home"} />
      </main>
      {connect ? null : <Dialog model={model} />}
    </div>
  );
}

/** Passes over the navigation, for those who use the keyboard. */
function SkipLink() {
  return (
    <a
      id="skip-link"
      class="button"
      // The fragment is the view's address.
      href={location.hash || "#/"}
      onClick={(event) => {
        event.preventDefault();
        newestTitle()?.focus();
      }}
    >
      Skip to the content
    </a>
  );
}

interface BoundaryProps extends ViewProps {
  /** What is shown in it. */
  readonly shown: string;
  readonly children: ComponentChildren;
}

/** Keeps the rest of the page when a view fails. */
class Boundary extends Component<BoundaryProps, { readonly failed: string }> {
  override state = { failed: "" };

  override componentDidCatch(error: unknown): void {
    this.props.model.log.add("error", HOST_SCOPE, `a view failed: ${describe(error)}`);
    this.setState({ failed: this.props.shown });
  }

  override render() {
    return this.state.failed === this.props.shown ? (
      <section class="panel stack">
        <Title>Something went wrong</Title>
        <p>This can't be shown. The log has the details.</p>
        <Actions>
          <Button onPress={this.props.model.reload}>Reload</Button>
        </Actions>
      </section>
    ) : (
      this.props.children
    );
  }
}

/**
 * Move the focus to the title of a view that was opened, or to what its opener chose.
 *
 * And to the title when what had the focus has gone: else the focus would fall back to the
 * page's start. From what was only hidden, a browser goes on by itself.
 */
function useFocusOnTitle(shown: string, navigation: Navigation): void {
  const places = usePlaces(shown);
  const last = useRef<Element | null>(null);
  useEffect(() => {
    const note = (): void => {
      last.current = document.activeElement;
    };
    const rescue = (): void => {
      const lost = last.current !== null && !last.current.isConnected;
      if (lost && document.activeElement === document.body) {
        newestTitle()?.focus({ preventScroll: true });
      }
    };
    document.addEventListener("focusin", note);
    const observer = new MutationObserver(rescue);
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      document.removeEventListener("focusin", note);
      observer.disconnect();
    };
  }, []);
  useLayoutEffect(() => {
    const title = newestTitle();
    document.title = title === undefined ? "Bridge" : `${title.textContent} · Bridge`;
    const moved = places();
    if (moved === "opened") {
      title?.focus();
    }
    const chosen = moved === "" ? "" : navigation.takeFocus();
    if (chosen !== "") {
      document.querySelector<HTMLElement>(chosen)?.focus();
    }
  });
}

const LIST = fragmentOf({ view: "plugins" });

/**
 * Keep the place on each view, and return to it when the user goes back.
 *
 * @returns Called after each drawing; returns whether another view is shown by now.
 */
function usePlaces(shown: string): () => "" | "opened" | "back" {
  const path = useRef([shown]);
  const tops = useRef(new Map<string, number>());
  useEffect(() => {
    const note = (): void => {
      const [now = ""] = path.current.slice(-1);
      tops.current.set(now, window.scrollY);
    };
    window.addEventListener("scroll", note, { passive: true });
    return () => window.removeEventListener("scroll", note);
  }, []);
  return () => {
    const [before = "", left = ""] = path.current.slice(-2);
    if (path.current.at(-1) === shown) {
      return "";
    }
    if (path.current.length < 2 || before !== shown) {
      path.current = [...path.current, shown];
      return "opened";
    }
    path.current = path.current.slice(0, -1);
    const row = shown === LIST ? rowOf(left) : null;
    (row ?? newestTitle())?.focus({ preventScroll: true });
    window.scrollTo(0, tops.current.get(shown) ?? 0);
    return "back";
  };
}

/** The list's link to the plugin that was shown. */
function rowOf(fragment: string): HTMLElement | null {
  const route = readRoute(fragment);
  return route?.view === "plugin"
    ? document.querySelector<HTMLElement>(`[data-row="${route.id}"]`)
    : null;
}

/** The title of the pane that was opened last. */
function newestTitle(): HTMLElement | undefined {
  const titles = [...document.querySelectorAll<HTMLElement>("[data-title]")];
  return titles.filter((title) => title.checkVisibility()).at(-1);
}

function Header({ model, route }: ViewProps & { readonly route: Route | undefined }) {
  const { updates } = model.catalog;
  const many = model.rows.length;
  const link = (
    view: "home" | "plugins" | "log" | "settings",
    label: string,
    more = "",
    badge = 0,
  ) => (
    <a
      href={fragmentOf({ view })}
      aria-current={route !== undefined && sectionOf(route) === view ? "page" : undefined}
    >
      {label}
      {more === "" ? null : <span class="count">{more}</span>}
      {badge === 0 ? null : (
        <span class="count badge">
          {badge}
          <span class="hidden"> {badge === 1 ? "update" : "updates"}</span>
        </span>
      )}
    </a>
  );
  return (
    <header class="top">
      <SkipLink />
      <h1>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M5 21h22M9 21v-5a7 7 0 0 1 14 0v5M16 9v12" />
        </svg>
        Bridge
      </h1>
      <a class="pill" id="bridge-state" href={fragmentOf({ view: "settings" })}>
        {model.standingWords}
      </a>
      {route === undefined ? null : (
        <nav aria-label="Views">
          {link("home", "Home")}
          {link("plugins", "Plugins", many === 0 ? "" : String(many), updates.length)}
          {link("log", "Log")}
          {link("settings", "Settings")}
        </nav>
      )}
    </header>
  );
}

function sectionOf({ view }: Route): string {
  switch (view) {
    case "plugin":
    case "add":
      return "plugins";
    case "keys":
      return "settings";
    default:
      return view;
  }
}

/** The cards of the plugins; always there, as plugins keep changing them. */
function HomeView({ model, shown }: ViewProps & { readonly shown: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    place.current?.append(model.cards.element);
  }, []);
  const empty = model.cards.element.querySelector(".plugin-card") === null;
  return (
    <section id="home" hidden={!shown} class="stack">
      {shown ? <Title>Home</Title> : null}
      {empty ? (
        <div class="stack">
          <p class="empty">No plugin shows anything here yet.</p>
          <Actions>
            <ButtonLink href={fragmentOf({ view: "plugins" })}>See the plugins</ButtonLink>
          </Actions>
        </div>
      ) : null}
      <div ref={place} />
    </section>
  );
}

function Panes({ model, route }: ViewProps & { readonly route: Route }) {
  switch (route.view) {
    case "home":
      return null;
    case "log":
      return <LogView model={model} />;
    case "settings":
      return <SettingsView model={model} />;
    case "keys":
      return <KeysView model={model} />;
    default:
      return (
        <div class="panes" data-detail={route.view !== "plugins"}>
          <PluginListView model={model} selected={route.view === "plugin" ? route.id : ""} />
          {route.view === "plugins" && model.rows.length === 0 ? null : (
            <div class="detail">
              <Detail model={model} route={route} />
            </div>
          )}
        </div>
      );
  }
}

function Detail({ model, route }: ViewProps & { readonly route: Route }) {
  if (route.view === "add") {
    return <AddView model={model} />;
  }
  if (route.view !== "plugin") {
    return <p class="empty">Choose a plugin to see more of it.</p>;
  }
  const { id, page } = route;
  const View = PLUGIN_VIEWS[page];
  return <View key={id} model={model} id={id} />;
}

const PLUGIN_VIEWS = {
  "": PluginView,
  update: UpdateView,
  settings: PluginSettingsView,
  permissions: PermissionsView,
} as const;

const ANNOUNCED_MILLISECONDS = 20_000;

/** What screen readers announce; there from the start, so that they watch it. */
function LiveRegions({ announcer }: { readonly announcer: Announcer }) {
  const polite = useRef<HTMLDivElement>(null);
  const urgent = useRef<HTMLDivElement>(null);
  const clearing = useRef(0);
  useEffect(
    () =>
      announcer.announced.listen((announcement) => {
        // Who comes to it later would hear what was true once.
        clearTimeout(clearing.current);
        clearing.current = window.setTimeout(() => {
          polite.current?.replaceChildren();
          urgent.current?.replaceChildren();
        }, ANNOUNCED_MILLISECONDS);
        const region = announcement.urgent ? urgent.current : polite.current;
        if (region !== null) {
          // The same words again are announced only when the text differs.
          const same = region.textContent === announcement.words;
          region.textContent = same ? `${announcement.words}\u00a0` : announcement.words;
        }
      }),
    [],
  );
  return (
    <div class="hidden">
      <div id="live-polite" role="status" ref={polite} />
      <div id="live-urgent" role="alert" ref={urgent} />
    </div>
  );
}
