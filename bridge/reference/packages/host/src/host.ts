import { ClientLink } from "./clientlink.js";
import type { Environment } from "./environment.js";
import { evaluator, pageTools } from "./evaluation.js";
import { HostState } from "./hoststate.js";
import type { Link } from "./link.js";
import { DAEMON_SCOPE, HOST_SCOPE, Log } from "./log.js";
import { readManifest } from "./manifest.js";
import { PageModel, type Tab } from "./model/model.js";
import { Questions } from "./model/questions.js";
import { shownNames } from "./names.js";
import { persistence } from "./persistence.js";
import { PageRuntime, type RuntimeParts } from "./pageruntime.js";
import { PluginCards } from "./plugincards.js";
import type { Entry } from "./plugins.js";
import type { Preferences } from "./preferences.js";
import { FrameRealms } from "./realm/realms.js";
import { showPage } from "./view/app.js";

/** The page that the host runs on, as far as it is not drawn. */
export type Page = Tab & Pick<RuntimeParts, "safe" | "leftSafeMode" | "isVisible" | "painted">;

/** What the table of the bundle has. */
export interface Bundled {
  readonly table: readonly Entry[];
  readonly realmRuntime: string;
}

/**
 * Create the host and start it.
 *
 * @param root The element that shows the host; its content is replaced.
 * @param bundled What the daemon generated.
 */
export function startHost(
  root: HTMLElement,
  { table, realmRuntime }: Bundled,
  preferences: Preferences,
  environment: Environment,
  page: Page,
): PageModel {
  const { later } = environment;
  const link = new ClientLink(preferences.target, preferences.first);
  const { client } = link;
  link.changed.listen(() => preferences.settle(link));
  const log = new Log(environment, (...line) => client.log(...line));
  const cards = new PluginCards();
  const names = shownNames(table.flatMap(({ manifest }) => readManifest(manifest) ?? []));
  const questions = new Questions(later);
  const persist = persistence(link, later, log);
  const state = new HostState(link, persist);
  const realms = new FrameRealms({ later, isVisible: page.isVisible });
  if (table.length > 0 && !page.safe) {
    realms.prepare();
  }
  const runtime = new PageRuntime(table, {
    ...page,
    realmRuntime,
    realms,
    daemon: link,
    state,
    log,
    environment,
    persist,
    asker: questions,
    place: (manifest, logger) =>
      cards.place({ ...manifest, name: names.get(manifest.id) ?? manifest.id }, logger),
  });
  const parts = { link, state, runtime, questions, log, preferences, cards, environment, persist };
  const model = new PageModel({ ...parts, tab: page });
  logEvents(link, log);
  showPage(root, model);
  // Developers know them by these names.
  const host = { connection: link, log, runtime, page: model };
  const scope = { host, manager: runtime.lifecycle, ...pageTools(later) };
  client.onRemote(evaluator(scope));
  return model;
}

/** Show what the daemon logs, under its own scope so that it is not sent back. */
function logEvents(link: Link, log: Log): void {
  link.on("log", ({ level, message }) => log.add(level, DAEMON_SCOPE, message));
  link.on("error", ({ message }) => log.add("warn", DAEMON_SCOPE, message));
  let known = "";
  link.changed.listen(() => {
    // Each attempt to connect would be two lines.
    if (link.state !== known && link.state !== "detecting") {
      known = link.state;
      const reason = link.reason === "" ? "" : ` (${link.reason})`;
      log.add("info", HOST_SCOPE, `the bridge is now ${known}${reason}`);
    }
  });
}
