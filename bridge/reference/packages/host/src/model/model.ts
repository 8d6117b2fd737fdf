import type { Events, ListEntry, Progress, State } from "../../../client/src/index.js";
import type { Environment } from "../environment.js";
import type { Installed } from "../grants.js";
import type { HostState } from "../hoststate.js";
import type { Link } from "../link.js";
import { HOST_SCOPE, type Log, describe } from "../log.js";
import { type Named, shownName, shownNames } from "../names.js";
import type { PageRuntime } from "../pageruntime.js";
import type { Persist } from "../persistence.js";
import type { PluginCards } from "../plugincards.js";
import type { Preferences } from "../preferences.js";
import type { Signal } from "../signal.js";
import { Announcer } from "./announcer.js";
import { PluginCatalog } from "./catalog.js";
import type { Preview } from "./entries.js";
import { LogBuffer } from "./logbuffer.js";
import { type AddressBar, Navigation, type Route, fragmentOf, pluginRoute } from "./navigation.js";
import { Operations, type Task } from "./operations.js";
import type { Questions } from "./questions.js";
import { type Row, type Status, rowsOf } from "./rows.js";
import { type Problem, TROUBLE_WORDS, count, explain, hourAndMinute } from "./words.js";

/** What the model uses of the browser's page. */
export interface Tab {
  readonly bar: AddressBar;
  /** Lasts as long as the tab. */
  readonly session: Pick<Storage, "getItem" | "setItem">;
  readonly reload: () => void;
  /** Return a name that no other operation has. */
  readonly newRef: () => string;
}

type Shared = "link" | "state" | "runtime" | "questions" | "log" | "preferences" | "cards" | "persist";

interface Parts extends Pick<PageModel, Shared> {
  readonly environment: Environment;
  readonly tab: Tab;
}

/** What the views show, and what the user can do with plugins. */
export class PageModel {
  readonly link: Link;
  readonly state: HostState;
  readonly runtime: PageRuntime;
  readonly questions: Questions;
  readonly log: Log;
  readonly preferences: Preferences;
  readonly cards: PluginCards;
  readonly persist: Persist;
  readonly catalog: PluginCatalog;
  readonly operations: Operations;
  readonly logBuffer: LogBuffer;
  readonly navigation: Navigation;
  readonly announcer = new Announcer();
  /** Everything whose changes the views follow. */
  readonly signals: readonly Signal[];
  readonly #tab: Tab;
  #updatingAll = false;
  #wasConnected = false;
  #trouble: "" | "absent" | "lost" | "stalled" = "";
  #buildErrors: readonly string[] = [];
  #rebuilt = false;
  #failure = "";
  #start: Route | undefined;

  constructor({ environment, tab, ...parts }: Parts) {
    const { link, state, runtime, log } = parts;
    this.link = link;
    this.state = state;
    this.runtime = runtime;
    this.questions = parts.questions;
    this.log = log;
    this.preferences = parts.preferences;
    this.cards = parts.cards;
    this.#tab = tab;
    this.persist = parts.persist;
    this.catalog = new PluginCatalog(link, state, environment, parts.persist);
    this.operations = new Operations({ link, storage: tab.session, ...environment, ...tab });
    this.logBuffer = new LogBuffer(log, tab.session);
    this.navigation = new Navigation(tab.bar);
    this.signals = [
      link.changed,
      runtime.changed,
      this.catalog.changed,
      this.operations.changed,
      state.changed,
      this.navigation.changed,
      this.cards.changed,
      this.questions.changed,
    ];
    this.navigation.changed.listen(() => (this.#failure = ""));
    runtime.changed.listen(() => this.#findStart());
    state.wasRead.listen(() => this.questions.review());
    this.questions.unsaved.listen((id) =>
      this.#fail(`Couldn't save what you allowed ${this.nameOf(id)}. It will ask again.`),
    );
    this.catalog.listed.listen((entries) => void runtime.installed(entries.map(installedOf)));
    this.operations.ended.listen((task) => this.#settle(task));
    link.changed.listen(() => this.#follow());
    link.opened.listen(() => void this.#readAll());
    link.on("build", (report) => this.#built(report));
  }

  /** Whether the page can show nothing before it is connected or paired. */
  get mustConnect(): boolean {
    const { state } = this.link;
    return state === "unpaired" || (!this.#wasConnected && !this.isConnected);
  }

  get isConnected(): boolean {
    return this.link.state === "connected";
  }

  /** What is wrong with the connection, while something is. */
  get trouble(): "" | "absent" | "lost" | "stalled" {
    return this.#trouble;
  }

  /** Whether what was begun here goes on meanwhile: not where no bridge runs. */
  get carriesOn(): boolean {
    const task = this.operations.tasks.at(-1);
    return this.#trouble !== "absent" && task?.outcome === "" && task.own;
  }

  /** The state of the connection in a word or two. */
  get standingWords(): string {
    switch (this.link.state) {
      case "connected":
        return "Connected";
      case "stalled":
        return "Not answering";
      case "unpaired":
        return "Not paired";
      case "absent":
        return "Not running";
      case "waiting":
        return "Connection lost";
      default:
        return this.#trouble === "" ? "Connecting…" : "Not connected";
    }
  }

  /** What is shown; where the address names nothing, the start. */
  get route(): Route {
    return this.navigation.route ?? this.#start ?? { view: "plugins" };
  }

  // Once it is known whether a plugin runs, the start stays: nobody has gone elsewhere.
  #findStart(): void {
    const stages = this.runtime.plugins().map(({ stage }) => stage);
    if (stages.includes("running")) {
      this.#start ??= { view: "home" };
    } else if (!stages.includes("waiting") && !stages.includes("starting")) {
      this.#start ??= { view: "plugins" };
    }
  }

  /** What could not be saved, until it is dismissed or another view is shown; else empty. */
  get failure(): string {
    return this.#failure;
  }

  /** Announce what becomes of a change; show it, too, when that could not be saved. */
  async saved(saving: Promise<void>, done: string, failed: string): Promise<boolean> {
    this.dismissFailure();
    try {
      await saving;
      this.announcer.polite(done);
      return true;
    } catch (e) {
      this.log.add("warn", HOST_SCOPE, `a change could not be saved: ${describe(e)}`);
      this.#fail(`Couldn't save. ${failed}`);
      return false;
    }
  }

  #fail(words: string): void {
    this.#show(words);
    this.announcer.urgent(words);
  }

  dismissFailure(): void {
    this.#show("");
  }

  #show(failure: string): void {
    this.#failure = failure;
    this.operations.changed.emit();
  }

  /** The last build that failed; empty when the last one did not. */
  get buildErrors(): readonly string[] {
    return this.#buildErrors;
  }

  /** Whether the page's bundle was replaced since it was loaded. */
  get isRebuilt(): boolean {
    return this.#rebuilt;
  }

  /** Load the page again, unless the user wants to stay. */
  readonly reload = async (): Promise<void> => {
    if (await this.navigation.mayLeave()) {
      this.#beginAgain();
    }
  };

  /** Use a pairing code; once something of a daemon is here, on a page that is loaded again. */
  pair(token: string): void {
    // Another tab may have kept another endpoint, which must not be shown this token.
    this.preferences.endpoint = this.link.endpoint;
    this.preferences.token = token;
    if (this.#wasConnected) {
      this.#beginAgain();
    } else {
      this.link.pair(token);
    }
  }

  /** Use the stored code where that of a link, or of before another tab was paired, is refused. */
  pairAgain(): void {
    const { link, preferences } = this;
    // A link may have led this tab elsewhere, where the code must not go.
    const isOwn = link.endpoint === preferences.endpoint;
    if (link.state === "unpaired" && isOwn && !["", link.token].includes(preferences.token)) {
      this.pair(preferences.token);
    }
  }

  /** Connect to another daemon, with nothing that the page has of this one. */
  moveTo(endpoint: string): void {
    this.preferences.endpoint = endpoint;
    // As a link does: a browser that keeps nothing has it after the reload only there.
    this.#tab.bar.write(`#endpoint=${encodeURIComponent(endpoint)}`);
  }

  /** Go where a link leads, or stay. */
  decide(goes: boolean): void {
    const { destination } = this.preferences;
    this.preferences.destination = undefined;
    if (goes && destination !== undefined) {
      this.preferences.move(destination);
      this.#beginAgain();
    } else {
      this.link.changed.emit();
    }
  }

  /** Forget the pairing code, and ask for another. */
  unpair(): void {
    this.preferences.token = "";
    this.#beginAgain();
  }

  /** Load the page again where it is, with what the preferences are by now. */
  #beginAgain(): void {
    const { named } = this.preferences;
    void (named === "" ? this.#tab.reload() : this.#tab.bar.write(`${fragmentOf(this.route)}&${named}`));
  }

  /** Read everything again; called when a connection opens. */
  async #readAll(): Promise<void> {
    await this.operations.refresh();
    await this.state.ready();
    await this.catalog.refresh();
    await this.catalog.checkDaily();
  }

  get rows(): readonly Row[] {
    const { catalog, runtime } = this;
    return rowsOf(
      catalog.entries,
      runtime.plugins(),
      (id) => catalog.isChanged(id),
      (id) => this.state.isOn(id),
    );
  }

  /** What is listed of a plugin. */
  row(id: string): Row | undefined {
    return this.rows.find((row) => row.id === id);
  }

  nameOf(id: string): string {
    return this.row(id)?.name ?? id;
  }

  /** The name of a plugin that is not installed; see `names.ts`. */
  nameOfNew({ id, name }: Named): string {
    const others = this.rows.map((row) => ({ id: row.id, name: row.entry?.name ?? row.name }));
    const all = [...others.filter((other) => other.id !== id), { id, name }];
    return shownNames(all).get(id) ?? id;
  }

  /** What an operation is about; empty while that is not known. */
  nameOfTask({ id, name }: Pick<Task, "id" | "name">): string {
    return this.row(id)?.name ?? (shownName(name) || id);
  }

  /** Why a reload is of use; empty when it is of none. */
  get reloadWords(): string {
    const rows = this.rows.filter((row) => row.reload);
    const kinds = new Set(rows.map(({ status }) => RELOADS[status] ?? OTHER_RELOAD));
    const what = rows.length === 1 ? String(rows[0]?.name) : count(rows.length, "plugin");
    if (rows.length === 0) {
      return this.isRebuilt ? "The page was rebuilt. Reload to use it." : "";
    }
    const [kind = OTHER_RELOAD] = kinds.size === 1 ? kinds : [];
    return `Reload to ${kind.replace("~", what)}.`;
  }

  /** Whether an operation can begin now: without a connection, or next to another, none can. */
  get mayOperate(): boolean {
    return this.isConnected && !this.operations.busy && !this.#updatingAll;
  }

  /**
   * Look at a plugin before it is installed or updated; nothing changes.
   *
   * @param what The address of a repository, or the id of an installed plugin.
   */
  async tryPreview(
    what: { readonly url: string } | { readonly id: string },
    signal: AbortSignal,
    onProgress: (step: Progress) => void,
  ): Promise<{ readonly preview: Preview } | { readonly problem: Problem }> {
    try {
      return { preview: await this.link.operate("plugins/preview", what, { signal, onProgress }) };
    } catch (e) {
      return { problem: explain(e, "preview") };
    }
  }

  install({ url, commit, digest, manifest }: Preview): Promise<Task> {
    return this.operations.run("install", manifest.name, { url, pin: { commit, digest } });
  }

  update(id: string, preview?: Preview): Promise<Task> {
    const pin = preview && { pin: { commit: preview.commit, digest: preview.digest } };
    return this.operations.run("update", this.nameOf(id), { id, ...pin });
  }

  /** Skip the version that was looked at. */
  async skip(id: string, { commit, manifest }: Preview): Promise<boolean> {
    const done = `${manifest.version} is skipped.`;
    const is = await this.saved(this.state.skip(id, commit), done, "The update isn't skipped.");
    // What was found before may be older.
    if (is && this.catalog.update(id) !== undefined) {
      void this.catalog.check();
    }
    return is;
  }

  /** Update every plugin that has one; a failure keeps no other from it, but cancelling does. */
  async updateAll(): Promise<void> {
    this.#updatingAll = true;
    const failed: Task[] = [];
    const from = this.navigation.route;
    const updates = this.catalog.updates.map(({ id }) => id);
    let done = 0;
    try {
      for (const id of updates) {
        const task = await this.update(id);
        if (task.problem === undefined) {
          done += 1;
        } else {
          failed.push(task);
        }
        if (task.outcome === "cancelled") {
          break;
        }
      }
    } finally {
      this.#updatingAll = false;
      this.operations.changed.emit();
    }
    const isCancelled = failed.at(-1)?.outcome === "cancelled";
    const others = isCancelled ? `${updates.length - done} not` : `${failed.length} failed`;
    this.announcer.polite(`${done} updated${failed.length === 0 ? "" : `, ${others}`}.`);
    const [first] = failed;
    if (first !== undefined) {
      this.operations.showEnded(failed);
      this.navigation.go(pluginRoute(first.id), "", from);
    }
  }

  /**
   * Show something when an operation is done, unless the user has gone elsewhere meanwhile: to
   * another view, or to another part of this one, when `isThere` is false.
   */
  async showAfter(
    running: Promise<Task>,
    route: Route,
    focus = "",
    isThere = () => true,
  ): Promise<void> {
    const from = this.navigation.route;
    if ((await running).outcome === "done" && isThere()) {
      this.navigation.go(route, focus, from);
    }
  }

  uninstall(id: string): Promise<Task> {
    return this.operations.run("uninstall", this.nameOf(id), { id });
  }

  forgetKey(keyId: string, name: string): Promise<Task> {
    return this.operations.run("forget_key", name, { keyId });
  }

  /** Switch a plugin on or off. */
  setEnabled(id: string, on: boolean): Promise<boolean> {
    const name = this.nameOf(id);
    const [is, was] = on ? ["on", "off"] : ["off", "on"];
    const saving = this.runtime.setEnabled(id, on);
    return this.saved(saving, `${name} is ${is}.`, `${name} is still ${was}.`);
  }

  /** The words for an operation that has ended; its plugin may not be listed yet, or any more. */
  outcomeWords(task: Task, isNew = false): string {
    const { kind, id, outcome, problem } = task;
    const row = this.row(id);
    const name = this.nameOfTask(task);
    const what = name || "It";
    // After a reload in the meantime, it may run already.
    const reload = row?.reload ?? isNew;
    if (outcome !== "done") {
      const words = problem?.words ?? "It was cancelled. Nothing changed.";
      // It is shown over every view.
      return name === "" ? words : `${name}: ${words}`;
    }
    switch (kind) {
      case "install":
        return `${what} is installed.${reload ? " Reload to start it." : ""}`;
      case "update":
        return `${what} is updated.${reload ? " Reload to use it." : ""}`;
      case "uninstall":
        return `${what} was removed.`;
      case "forget_key":
        return "The key is forgotten.";
      default:
        return "Done.";
    }
  }

  /** The one line about updates; empty when nothing is known of any. */
  get updateWords(): string {
    const { checking, checkedAt, updates, notKnown, problem } = this.catalog;
    if (checking) {
      return "Looking for updates…";
    }
    if (problem !== undefined) {
      return problem.words;
    }
    if (updates.length > 0) {
      return count(updates.length, "update");
    }
    if (notKnown.length > 0) {
      return `Not known for ${count(notKnown.length, "plugin")}`;
    }
    return checkedAt === 0 ? "" : `Up to date (${hourAndMinute(checkedAt)})`;
  }

  #follow(): void {
    const { state } = this.link;
    this.pairAgain();
    if (state === "connected") {
      const words = this.#trouble === "" && this.#wasConnected ? "" : "Connected.";
      this.#wasConnected = true;
      this.#trouble = "";
      if (words !== "") {
        this.announcer.polite(words);
      }
      return;
    }
    const trouble = TROUBLES[state];
    if (this.#wasConnected && trouble !== undefined && trouble !== this.#trouble) {
      this.#trouble = trouble;
      this.announcer.polite(TROUBLE_WORDS[trouble]);
    }
  }

  #built({ ok, errors }: Events["build"]): void {
    this.#rebuilt ||= ok;
    this.#buildErrors = ok ? [] : errors;
    this.catalog.changed.emit();
  }

  #settle(task: Task): void {
    const words = this.outcomeWords(task, true);
    if (task.outcome === "done") {
      this.announcer.polite(words);
    } else {
      this.announcer.urgent(words);
    }
    void this.catalog.refresh();
  }
}

function installedOf({ id, keyId, problem, dev }: ListEntry): Installed {
  // What is left out may be listed without its record.
  return { id, keyId: keyId === "" && problem !== undefined ? undefined : keyId, dev };
}

// What a reload does, by what waits for it; `~` stands for the plugin.
const OTHER_RELOAD = "bring ~ up to date";
const RELOADS: { readonly [status in Status]?: string } = {
  new: "start ~",
  removed: "finish removing ~",
};

const TROUBLES: { readonly [state in State]?: "absent" | "lost" | "stalled" } = {
  absent: "absent",
  waiting: "lost",
  stalled: "stalled",
};
