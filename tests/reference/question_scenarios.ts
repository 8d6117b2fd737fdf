/** The questions of plugins, what is kept of the answers, and the names in them. */

import { GrantBook } from "../../bridge/reference/packages/host/src/grants.js";
import { readManifest } from "../../bridge/reference/packages/host/src/manifest.js";
import { Questions } from "../../bridge/reference/packages/host/src/model/questions.js";
import { alone, shownName, shownNames } from "../../bridge/reference/packages/host/src/names.js";
import { type Asker, Gate, type Use } from "../../bridge/reference/packages/host/src/permissions.js";
import { Signal } from "../../bridge/reference/packages/host/src/signal.js";
import { connectedPage } from "./modelfixture.js";
import { Daemon, KEY, bookOf, manifestOf } from "./pagefixture.js";
import { FakeEnvironment, equal, failure, quiet, settle } from "../../clients/typescript/test/fakeenvironment.js";

const ANSWERS = { yes: "Yes", no: "No" };

function use(id: string, about: string, isAllowed = (): boolean => false): Use {
  return { id, name: id.toUpperCase(), words: about, detail: "", about, isAllowed };
}

interface Fixture {
  readonly env: FakeEnvironment;
  readonly questions: Questions;
}

function fixture(): Fixture {
  const env = new FakeEnvironment();
  return { env, questions: new Questions(env.later) };
}

/** Answer the current question, once it can be read; returns whether that counted. */
async function press({ env, questions }: Fixture, yes: boolean): Promise<boolean> {
  questions.shown();
  await env.pass(500);
  const { current } = questions;
  return current !== undefined && questions.answer(current, yes);
}

const title = ({ questions }: Fixture): string => questions.current?.title ?? "";

/** A plugin that may use SQL, with everything that decides about it. */
function gateOf(book: GrantBook, answers: boolean[] | Asker, id = "some-plugin"): Gate {
  const manifest = manifestOf({ id, permissions: ["sql"] });
  if (!Array.isArray(answers)) {
    return new Gate(manifest, book, answers);
  }
  const ask = (): Promise<boolean> => Promise.resolve(answers.shift() ?? false);
  return new Gate(manifest, book, { ask, withdraw: () => undefined, unsaved: new Signal() });
}

const ALLOWED = [{ kind: "sql", target: "*" }];

export const questionScenarios = {
  /** One question of a plugin waits at a time, and two noes end them. */
  async test_attack_questions_without_end() {
    const page = fixture();
    const { questions } = page;
    const answers = ["a", "b", "c"].map((about) => questions.ask(use("evil", about)));
    const other = questions.ask(use("other", "x"));
    // One of each plugin waits; the page's own come before them.
    const own = questions.confirm("Uninstall?", "", ANSWERS);
    equal(title(page), "Let “EVIL” a?");
    await press(page, false);
    equal(title(page), "Uninstall?");
    await press(page, true);
    equal(title(page), "Let “OTHER” x?");
    await press(page, true);
    equal(title(page), "Let “EVIL” b?");
    await press(page, false);
    // After two noes there is no third question, neither now nor later.
    equal([title(page), questions.isSilent("evil"), questions.isSilent("other")], ["", true, false]);
    equal(await Promise.all([...answers, other, own]), [false, false, false, true, true]);
    equal([await questions.ask(use("evil", "d")), title(page)], [false, ""]);
    questions.letAsk("evil");
    const again = questions.ask(use("evil", "a"));
    equal(title(page), "Let “EVIL” a?");
    await press(page, true);
    equal(await again, true);
  },

  /** The same is not asked again before the page is left. */
  async a_no_is_for_this_page() {
    const page = fixture();
    const answer = page.questions.ask(use("one", "a"));
    await press(page, false);
    equal([await answer, await page.questions.ask(use("one", "a"))], [false, false]);
    equal(title(page), "");
  },

  /** A press counts for a question that was shown for half a second. */
  async test_attack_double_click_on_a_question() {
    const page = fixture();
    const { questions, env } = page;
    const first = questions.confirm("One?", "", ANSWERS);
    const second = questions.confirm("Two?", "", ANSWERS);
    const { current } = questions;
    if (current === undefined) {
      throw new Error("one is asked");
    }
    // Neither before it was drawn, nor in the half second after that.
    equal(questions.answer(current, true), false);
    questions.shown();
    await env.pass(499);
    equal([questions.isReadable, questions.answer(current, true)], [false, false]);
    await env.pass(1);
    equal(questions.answer(current, true), true);
    // The second click of a double-click meets the next one, or one that is gone.
    const next = questions.current;
    equal([next?.title, questions.isReadable], ["Two?", false]);
    equal(next !== undefined && questions.answer(next, true), false);
    questions.shown();
    await env.pass(500);
    equal(questions.answer(current, true), false);
    // Something has moved it below the pointer, twice.
    questions.shown();
    equal([questions.isReadable, next !== undefined && questions.answer(next, true)], [false, false]);
    await env.pass(400);
    questions.shown();
    await env.pass(400);
    equal(questions.isReadable, false);
    await press(page, false);
    equal(await Promise.all([first, second]), [true, false]);
  },

  /** They go, and count as no answer of the user's. */
  async questions_of_a_plugin_that_stops() {
    const page = fixture();
    const { questions } = page;
    const answers = ["a", "b"].map((about) => questions.ask(use("evil", about)));
    const other = questions.ask(use("other", "x"));
    questions.withdraw("evil");
    equal(await Promise.all(answers), [false, false]);
    equal([title(page), questions.isSilent("evil")], ["Let “OTHER” x?", false]);
    await press(page, true);
    equal(await other, true);
    // Closing its gate withdraws them.
    const book = bookOf(new Daemon());
    await book.compare([{ id: "some-plugin", keyId: "own-key" }]);
    const gate = gateOf(book, questions);
    const passing = failure(gate.pass("sql", "*"));
    await quiet();
    equal(questions.current?.plugin, "some-plugin");
    gate.close();
    equal([(await passing).message, title(page)], ["the plugin is switched off", ""]);
    // Nor is one asked when the gate closes before it is known what is allowed.
    const late = gateOf(book, questions);
    const refused = failure(late.pass("sql", "*"));
    late.close();
    equal([(await refused).message, title(page)], ["the plugin is switched off", ""]);
  },

  /** What was allowed in another tab is asked here no more, and not saved twice. */
  async questions_that_another_tab_has_answered() {
    const { model, link } = await connectedPage([]);
    const book = new GrantBook(model.state);
    await book.compare([{ id: "some-plugin", keyId: KEY }]);
    const passing = gateOf(book, model.questions).pass("sql", "*");
    await quiet();
    const held = model.questions.ask(use("some-plugin", "held"));
    equal(model.questions.current?.title.includes("saved data"), true);
    // Not what was allowed another author's plugin.
    for (const keyId of ["their-key", KEY]) {
      equal(model.questions.current?.title.includes("saved data"), true);
      link.stored.set("grants:some-plugin", { keyId, allowed: ALLOWED });
      await model.state.refresh();
    }
    await passing;
    equal([model.questions.current?.title, link.called("state/set")], ["Let “SOME-PLUGIN” held?", []]);
    model.questions.withdraw("some-plugin");
    equal(await held, false);
  },

  /** Names are cut and isolated; one that another has is shown with its id. */
  test_attack_names_that_mislead() {
    const long = "Bridge: your session ends. To stay signed in, press Allow below.".repeat(3);
    equal([...shownName(long)].length, 61);
    equal(shownName("  Bio  "), "Bio");
    equal(shownName("Bio” held? „a‟ «b» \"c\""), "Bio' held? 'a' 'b' 'c'");
    equal(shownName(`a${"\u0301\u200d".repeat(9)}b`), `a${"\u0301\u200d".repeat(4)}b`);
    const burmese = "\u101b\u103d\u103e\u1036\u1037 \u1019\u103c\u103d\u103e\u1030\u102c";
    equal(shownName(burmese), burmese);
    // What is written from right to left turns nothing of the sentence around.
    equal(shownName("مرحبا"), "\u2068مرحبا\u2069");
    equal(shownName("a\u202eb"), "\u2068a\u202eb\u2069");
    equal([alone(shownName("مرحبا")), alone("\u2068a\u2069 (id)")], ["مرحبا", "\u2068a\u2069 (id)"]);
    const names = (...plugins: [id: string, name: string][]): string[] => [
      ...shownNames(plugins.map(([id, name]) => ({ id, name }))).values(),
    ];
    equal(names(["bio", "Bio"], ["patches", "Patches"]), ["Bio", "Patches"]);
    equal(names(["bio", "Bio Updater"], ["evil", "bio-úpdater"]), [
      "Bio Updater (bio)",
      "bio-úpdater (evil)",
    ]);
    // Those that differ only in what is not shown are the same.
    const cut = `${long.slice(0, 60).trim()}…`;
    equal(names(["bio", `${long}1`], ["evil", `${long}2`]), [`${cut} (bio)`, `${cut} (evil)`]);
    // Names of the page's and the daemon's own, and ids of others.
    equal(
      names(["evil", "Host"], ["worse", "The  Bridge"], ["worst", "Patches-X"], ["patches-x", "P"]),
      ["Host (evil)", "The  Bridge (worse)", "Patches-X (worst)", "P"],
    );
  },

  /** No plugin of the bundle has an id that is theirs in the log. */
  test_attack_ids_of_the_page_and_the_daemon() {
    const ids = ["host", "bridge", "bridges"].map((id) => readManifest({ id })?.id ?? "");
    equal(ids, ["", "", "bridges"]);
  },

  /** What was allowed is so once it can be read, though comparing it has failed. */
  async grants_that_could_not_be_read_once() {
    const daemon = new Daemon();
    daemon.stored.set("grants:some-plugin", { keyId: KEY, allowed: ALLOWED });
    const book = bookOf(daemon);
    daemon.refuses = "state/list";
    await failure(book.compare([{ id: "some-plugin", keyId: KEY }]));
    daemon.refuses = "";
    await gateOf(book, []).pass("sql", "*");
  },

  /** What the user allowed is saved at once or not at all. */
  async a_yes_that_cannot_be_saved_now() {
    const [daemon, env] = [new Daemon(), new FakeEnvironment()];
    const book = bookOf(daemon, env);
    await book.compare([{ id: "some-plugin", keyId: KEY }]);
    daemon.refuses = "state/list";
    const refused = failure(gateOf(book, [true]).pass("sql", "*"));
    await quiet();
    daemon.refuses = "";
    await env.pass(5_000);
    equal([(await refused).message, daemon.allowed("some-plugin")], ["not now", undefined]);
  },

  /** A yes that could not be saved does not count, and the user reads so. */
  async a_yes_that_is_not_saved() {
    const { model, link, env, said } = await connectedPage([]);
    const book = new GrantBook(model.state);
    await book.compare([{ id: "some-plugin", keyId: KEY }]);
    link.refuses = "state/set";
    const refused = failure(gateOf(book, model.questions).pass("sql", "*"));
    await settle();
    await press({ env, questions: model.questions }, true);
    equal((await refused).message, "not now");
    const words = "Couldn't save what you allowed some-plugin. It will ask again.";
    equal([said.at(-1), model.failure], [`!${words}`, words]);
  },

  /** A yes that was saved counts at once, also when only the answer was lost. */
  async a_yes_whose_answer_is_lost() {
    const daemon = new Daemon();
    const book = bookOf(daemon);
    await book.compare([{ id: "some-plugin", keyId: KEY }]);
    daemon.loses = "state/set";
    await gateOf(book, [true]).pass("sql", "*");
    equal(daemon.allowed("some-plugin"), ALLOWED);
  },

  /** A plugin that is signed with another key inherits nothing. */
  async test_attack_same_id_of_another_author() {
    const daemon = new Daemon();
    daemon.stored.set("grants:some-plugin", { keyId: "their-key", allowed: ALLOWED });
    const book = bookOf(daemon);
    await book.compare([{ id: "some-plugin", keyId: "own-key" }]);
    equal([...daemon.stored.keys()], []);
    const gate = gateOf(book, []);
    equal((await failure(gate.pass("sql", "*"))).name, "PermissionError");
  },

  /** A page that was loaded earlier removes and replaces no newer grants. */
  async test_attack_older_bundle_deletes_grants() {
    const daemon = new Daemon();
    const theirs = { keyId: "their-key", allowed: ALLOWED };
    // A page that was loaded when another author's plugin had this id.
    const book = bookOf(daemon);
    await book.compare([{ id: "some-plugin", keyId: "own-key" }]);
    daemon.stored.set("grants:newer", theirs);
    daemon.stored.set("grants:some-plugin", theirs);
    const installed = ["newer", "some-plugin"].map((id) => ({ id, keyId: "their-key" }));
    await book.compare(installed);
    const error = await failure(gateOf(book, [true]).pass("sql", "*"));
    equal(error.message, "another author's plugin has this id by now");
    equal([...daemon.stored], [
      ["grants:newer", theirs],
      ["grants:some-plugin", theirs],
    ]);
  },

  /** Those of earlier versions become the installed plugin's. */
  async grants_without_a_key() {
    const daemon = new Daemon();
    daemon.stored.set("grants:some-plugin", ALLOWED);
    const book = bookOf(daemon);
    const compare = (keyId: string | undefined): Promise<void> =>
      book.compare([{ id: "some-plugin", keyId }]);
    // A plugin that cannot be read has a key that is not known: nothing is decided.
    await compare(undefined);
    equal(daemon.stored.get("grants:some-plugin"), ALLOWED);
    await compare("own-key");
    equal(daemon.stored.get("grants:some-plugin"), { keyId: "own-key", allowed: ALLOWED });
    await compare(undefined);
    equal(daemon.stored.get("grants:some-plugin"), { keyId: "own-key", allowed: ALLOWED });
    equal(await book.all("some-plugin"), ALLOWED);
  },

  /** Nothing is allowed before the daemon has listed what is installed. */
  async grants_wait_for_the_list() {
    const daemon = new Daemon();
    daemon.stored.set("grants:some-plugin", { keyId: "own-key", allowed: ALLOWED });
    const book = bookOf(daemon);
    let passed = false;
    const passing = gateOf(book, []).pass("sql", "*").then(() => (passed = true));
    await settle();
    equal(passed, false);
    await book.compare([{ id: "some-plugin", keyId: "own-key" }]);
    equal(await passing, true);
    const gone = await failure(gateOf(book, [true], "not-here").pass("sql", "*"));
    equal(gone.message, "the plugin is not installed");
    // Nor after it was uninstalled, by whatever.
    await book.compare([]);
    const removed = await failure(gateOf(book, [true]).pass("sql", "*"));
    equal(removed.message, "the plugin is not installed");
  },
};
