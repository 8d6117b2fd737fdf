import type { Context } from "@bridge/plugin-api";

import { BridgeCard } from "./card.js";
import { Catalogue } from "./catalogue.js";
import { Connection, type Push } from "./connection.js";
import { element } from "./dom.js";
import { answerSnippets, pageTools } from "./evaluation.js";
import { DAEMON_SCOPE, HOST_SCOPE, Log, levelOf } from "./log.js";
import { LogView } from "./logview.js";
import type { Manifest } from "./manifest.js";
import { GatedNative } from "./native.js";
import { BuildNotice } from "./notice.js";
import { Operations } from "./operations.js";
import { Gate } from "./permissions.js";
import { PluginCards } from "./plugincards.js";
import { Plugins } from "./plugins.js";
import type { Preferences } from "./preferences.js";
import { Questions } from "./question.js";
import { StoredSettings } from "./settings.js";
import { PluginPanel } from "./pluginpanel.js";
import type { Environment } from "./environment.js";
import { concurrencyLimiter } from "./concurrency.js";
import { fields, text } from "./wire.js";

// More at once would have to wait longer than they may: the daemon answers five a second.
const SETTINGS_READ_AT_ONCE = 3;

type Table = ConstructorParameters<typeof Plugins>[0];

/**
 * Create the host and start it.
 *
 * @param root The element that shows the host; its content is replaced.
 * @param reload Reloads the page.
 */
export function startHost(
  root: HTMLElement,
  table: Table,
  preferences: Preferences,
  environment: Environment,
  reload: () => void,
): void {
  const connection = new Connection(environment, preferences.endpoint, preferences.token);
  const log = new Log(environment, (frame) => connection.send(frame));
  const view = new LogView(log);
  const cards = new PluginCards();
  const questions = new Questions();

  const inTurn = concurrencyLimiter(SETTINGS_READ_AT_ONCE);
  const makeContext = async (manifest: Manifest): Promise<Context> => {
    const { id } = manifest;
    const settings = await inTurn(() => StoredSettings.read(connection, id));
    const logger = log.scope(id);
    const gate = new Gate(manifest, connection, (...words) => questions.ask(...words));
    const native = new GatedNative(connection, gate);
    return { id, logger, settings, native, ui: cards.ui(manifest, logger) };
  };
  const plugins = new Plugins(table, makeContext, log);
  const catalogue = new Catalogue(connection, log);
  const operations = new Operations(connection, environment.later);
  const notice = new BuildNotice(connection, reload);
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
  connection.opened.listen(() => {
    log.flush();
    void plugins.start();
    void catalogue.refresh();
  });
  noteStates(connection, log);
  const host = { connection, log, catalogue, operations };
  const scope = { host, manager: plugins, ...pageTools(environment.later) };
  answerSnippets(connection, scope, log);
  connection.check();
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
