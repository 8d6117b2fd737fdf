import { ClientLink, daemonOf } from "./clientlink.js";
import type { Environment } from "./environment.js";
import { evaluator, pageTools } from "./evaluation.js";
import { DAEMON_SCOPE, HOST_SCOPE, Log, levelOf } from "./log.js";
import { readManifest } from "./manifest.js";
import { Announcer } from "./model/announcer.js";
import { HostState } from "./model/hoststate.js";
import type { Link } from "./model/link.js";
import { LogBuffer } from "./model/logbuffer.js";
import { PageModel } from "./model/model.js";
import { type AddressBar, Navigation } from "./model/navigation.js";
import { Questions } from "./model/questions.js";
import { PluginCatalog } from "./model/catalog.js";
import { Operations } from "./model/operations.js";
import { shownNames } from "./names.js";
import { PageRuntime, type RuntimeParts } from "./pageruntime.js";
import { PluginCards } from "./plugincards.js";
import type { Entry } from "./plugins.js";
import type { Preferences } from "./preferences.js";
import { FrameRealms } from "./realm/realms.js";
import { showPage } from "./view/app.js";
import { fields, text } from "./wire.js";

/** The page that the host runs on, as far as it is not drawn. */
export interface Page extends Pick<RuntimeParts, "safe" | "leftSafeMode" | "isVisible"> {
  readonly bar: AddressBar;
  /** Lasts as long as the tab. */
  readonly session: Pick<Storage, "getItem" | "setItem">;
  readonly reload: () => void;
  /** Return a name that no other operation has. */
  readonly newRef: () => string;
}

/** What the table of the bundle has. */
export interface Bundled {
  readonly table: readonly Entry[];
  readonly realmRuntime: string;
}

/** What the page's events go to. */
export interface Host {
  readonly runtime: PageRuntime;
  readonly navigation: Navigation;
  readonly logBuffer: LogBuffer;
  /** Connect again, with what the preferences name by now. */
  readonly reconnect: () => void;
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
): Host {
  const { later, now } = environment;
  const link = new ClientLink(preferences.endpoint, preferences.first);
  const { client } = link;
  link.changed.listen(() => preferences.settle(link));
  const log = new Log(environment, (...line) => client.log(...line));
  const cards = new PluginCards();
  const names = shownNames(table.flatMap(({ manifest }) => readManifest(manifest) ?? []));
  const questions = new Questions(later);
  const realms = new FrameRealms({ later, isVisible: page.isVisible });
  if (table.length > 0 && !page.safe) {
    realms.prepare();
  }
  const runtime = new PageRuntime(table, {
    ...page,
    realmRuntime,
    realms,
    daemon: daemonOf(link),
    log,
    environment,
    asker: questions,
    place: (manifest, logger) =>
      cards.place({ ...manifest, name: names.get(manifest.id) ?? manifest.id }, logger),
  });
  const logBuffer = new LogBuffer(log, page.session);
  const memory = new HostState(link);
  const navigation = new Navigation(page.bar);
  const model = new PageModel({
    link,
    runtime,
    catalog: new PluginCatalog(link, memory, environment),
    operations: new Operations({ link, storage: page.session, now, later, newRef: page.newRef }),
    memory,
    announcer: new Announcer(),
    navigation,
    questions,
    logBuffer,
    log,
    preferences,
    cards,
    reload: page.reload,
  });
  logEvents(link, log);
  showPage(root, model);
  // Developers know them by these names.
  const host = { connection: link, log, runtime, page: model };
  const scope = { host, manager: runtime.lifecycle, ...pageTools(later) };
  client.onRemote(evaluator(scope));
  const reconnect = (): void => link.moveTo(preferences.endpoint, preferences.first);
  return { runtime, navigation, logBuffer, reconnect };
}

/** Show what the daemon logs, under its own scope so that it is not sent back. */
function logEvents(link: Link, log: Log): void {
  link.on("log", (data) => {
    const { level, message } = fields(data);
    log.add(levelOf(text(level)), DAEMON_SCOPE, text(message));
  });
  link.on("error", (data) => log.add("warn", DAEMON_SCOPE, text(fields(data)["message"])));
  let known = "";
  link.changed.listen(() => {
    if (link.state !== known) {
      known = link.state;
      const reason = link.reason === "" ? "" : ` (${link.reason})`;
      log.add("info", HOST_SCOPE, `the bridge is now ${known}${reason}`);
    }
  });
}
