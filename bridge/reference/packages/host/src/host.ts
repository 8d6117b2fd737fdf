import { BridgeCard } from "./card.js";
import { Catalogue } from "./catalogue.js";
import { Connection, type Push } from "./connection.js";
import { element } from "./dom.js";
import { answerSnippets, pageTools } from "./evaluation.js";
import { DAEMON_SCOPE, HOST_SCOPE, Log, levelOf } from "./log.js";
import { LogView } from "./logview.js";
import { BuildNotice } from "./notice.js";
import { Operations } from "./operations.js";
import { PluginCards } from "./plugincards.js";
import type { Entry } from "./plugins.js";
import type { Preferences } from "./preferences.js";
import { Questions } from "./question.js";
import { PluginPanel } from "./pluginpanel.js";
import { type Runtime, type RuntimeParts, createRuntime } from "./runtime.js";
import type { Environment } from "./environment.js";
import { fields, text } from "./wire.js";

/** What the host can do with the page it runs on. */
export interface Page extends Pick<RuntimeParts, "safe" | "leftSafeMode" | "storage"> {
  readonly reload: () => void;
}

/**
 * Create the host and start it.
 *
 * @param root The element that shows the host; its content is replaced.
 * @returns The runtime of its plugins.
 */
export function startHost(
  root: HTMLElement,
  table: readonly Entry[],
  preferences: Preferences,
  environment: Environment,
  page: Page,
): Runtime {
  const connection = new Connection(environment, preferences.endpoint, preferences.token);
  const log = new Log(environment, (frame) => connection.send(frame));
  const view = new LogView(log);
  const cards = new PluginCards();
  const questions = new Questions();

  connection.opened.listen(() => log.flush());
  const runtime = createRuntime(table, {
    ...page,
    daemon: connection,
    log,
    environment,
    ask: (...words) => questions.ask(...words),
    place: (manifest, logger) => {
      const ui = cards.ui(manifest, logger);
      const shown = cards.element.lastElementChild;
      return { ui, remove: () => shown?.remove() };
    },
  });
  const plugins = runtime.manager;
  const catalogue = new Catalogue(connection, log);
  const operations = new Operations(connection, environment.later);
  const notice = new BuildNotice(connection, page.reload);
  const panel = new PluginPanel({ connection, catalogue, operations, plugins }, notice.element);

  root.replaceChildren(
    element(
      "div",
      { class: "columns" },
      new BridgeCard(connection, preferences).element,
      panel.element,
    ),
    cards.element,
    view.element,
    questions.element,
  );

  connection.pushes.listen((push) => listenIn(push, log));
  connection.opened.listen(() => void catalogue.refresh());
  noteStates(connection, log);
  const host = { connection, log, catalogue, operations, runtime };
  const scope = { host, manager: plugins, ...pageTools(environment.later) };
  answerSnippets(connection, scope, log);
  connection.check();
  return runtime;
}

/** Show what the daemon logs, under its own scope so that it is not sent back. */
function listenIn({ event, data }: Push, log: Log): void {
  const { level, message } = fields(data);
  if (event === "log") {
    log.add(levelOf(text(level)), DAEMON_SCOPE, text(message));
  } else if (event === "error") {
    log.add("warn", DAEMON_SCOPE, text(message));
  }
}

function noteStates(connection: Connection, log: Log): void {
  let known = "";
  connection.changed.listen(() => {
    if (connection.state !== known) {
      known = connection.state;
      const reason = connection.refusal === "" ? "" : ` (${connection.refusal})`;
      log.add("info", HOST_SCOPE, `the bridge is now ${known}${reason}`);
    }
  });
}
