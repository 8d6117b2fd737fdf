/** A daemon and a page for the runtime: everything but the connection and the views. */

import { BridgeError, type Context, type Plugin } from "@bridge/plugin-api";

import { FakeScreen } from "../../bridge/reference/packages/api/src/fakepage.js";
import { makeUi } from "../../bridge/reference/packages/api/src/handles.js";
import { MOST_CELLS } from "../../bridge/reference/packages/api/src/uirules.js";
import { GrantBook } from "../../bridge/reference/packages/host/src/grants.js";
import { Log } from "../../bridge/reference/packages/host/src/log.js";
import { HostState } from "../../bridge/reference/packages/host/src/hoststate.js";
import { type Caller, UnansweredError } from "../../bridge/reference/packages/host/src/link.js";
import { type Manifest, readManifest } from "../../bridge/reference/packages/host/src/manifest.js";
import type { Entry } from "../../bridge/reference/packages/host/src/plugins.js";
import { PageRuntime } from "../../bridge/reference/packages/host/src/pageruntime.js";
import { persistence } from "../../bridge/reference/packages/host/src/persistence.js";
import { Signal } from "../../bridge/reference/packages/host/src/signal.js";
import { FakeRealms, textOf } from "./realmfixture.js";
import { FakeEnvironment, quiet, settle } from "../../clients/typescript/test/fakeenvironment.js";

/** The key that every plugin of the page is signed with. */
export const KEY = "the-key";

/** What a call is rejected with that went out and was not answered. */
export function noAnswer(code = "timeout"): Error {
  return new UnansweredError(code, "no answer");
}

type Params = { readonly [name: string]: unknown };
type Answer = (params: never) => unknown;

/** A daemon that remembers what it was asked. */
export class Daemon {
  readonly asked: string[] = [];
  /** The parameters and options of each call, in the same order. */
  readonly given: [params: Params, options: object][] = [];
  /** Values by key, whatever the namespace. */
  readonly stored = new Map<string, unknown>();
  /** Answers of methods, or what makes them. */
  readonly answers = new Map<string, unknown>();
  readonly opened = new Signal();
  isOpen = true;
  refuses = "";
  /** What is done, while the answer is lost. */
  loses = "";
  readonly #pushes = new Signal<{ readonly event: string; readonly data: unknown }>();

  /** What the user allowed a plugin. */
  allowed(id: string): unknown {
    return (this.stored.get(`grants:${id}`) as { readonly allowed: unknown } | undefined)?.allowed;
  }

  call = (async (name: string, params: Params = {}, options: object = {}): Promise<unknown> => {
    const answer = await this.#answer(name, params, options);
    if (name === this.loses) {
      throw noAnswer();
    }
    return answer;
  }) as Caller["call"];

  async #answer(name: string, params: Params, options: object): Promise<unknown> {
    const { ns, key, value } = params;
    const where = key === undefined ? "" : ` ${String(ns)} ${String(key)}`;
    await settle();
    this.asked.push(`${name}${where}`);
    this.given.push([params, options]);
    if (name === this.refuses) {
      throw new BridgeError("unavailable", "not now");
    }
    const answer = this.answers.get(name);
    if (answer !== undefined) {
      return typeof answer === "function" ? (answer as Answer)(params as never) : answer;
    }
    switch (name) {
      case "state/list":
        return { entries: Object.fromEntries(this.stored) };
      case "state/get":
        return { value: this.stored.get(String(key)) };
      case "state/set":
        this.stored.set(String(key), value);
        return {};
      case "state/delete":
        this.stored.delete(String(key));
        return {};
      default:
        return ANSWERS[name] ?? {};
    }
  }

  on(event: string, listener: (data: never) => void): () => void {
    return this.#pushes.listen((push) => {
      if (push.event === event) {
        listener(push.data as never);
      }
    });
  }

  push(event: string, data: unknown): void {
    this.#pushes.emit({ event, data });
  }
}

const sent = { ok: true, delivered: ["overlay"], failed: [{ sink: "x", error: "gone" }] };
const ANSWERS: { readonly [method: string]: object } = {
  "notify/send": sent,
  "notify/targets": { targets: [] },
  "plugins/check_updates": { updates: [], unknown: [], pending: [] },
  "plugins/keys": { keys: [] },
  "plugins/list": { plugins: [], broken: [] },
  "plugins/operations": { operations: [] },
};

/** The store of a browser. */
export class Memory extends Map<string, string> {
  readonly forgets = (): boolean => false;

  getItem(key: string): string | null {
    return this.get(key) ?? null;
  }

  setItem(key: string, value: string): void {
    this.set(key, value);
  }

  removeItem(key: string): void {
    this.delete(key);
  }
}

/** What a test may set before the page starts. */
export interface Given {
  readonly daemon?: Daemon;
  readonly safe?: boolean;
  /** The user's answers, in order; a question without one fails. */
  readonly answers?: (boolean | Promise<boolean>)[];
}

interface GivenPlugin extends Given, Partial<Pick<Plugin, "settings" | "deactivate">> {
  readonly manifest?: object;
}

/** A page, and what happened on it. */
export interface Fixture {
  readonly runtime: PageRuntime;
  readonly daemon: Daemon;
  readonly state: HostState;
  readonly env: FakeEnvironment;
  readonly realms: FakeRealms;
  /** Titles of the cards that are shown. */
  readonly cards: Set<string>;
  readonly questions: string[];
  /** The page's log lines. */
  readonly lines: string[];
  /** How often safe mode was left. */
  readonly left: string[];
}

/** Open a page which is not connected yet. */
export function fixture(table: readonly Entry[], given: Given = {}): Fixture {
  const { daemon = new Daemon(), safe = false, answers = [] } = given;
  const env = new FakeEnvironment();
  const log = new Log(env, () => undefined);
  const lines: string[] = [];
  log.recorded.listen(({ scope, message }) => lines.push(`${scope}: ${message}`));
  const realms = new FakeRealms(env);
  const cards = new Set<string>();
  const questions: string[] = [];
  const left: string[] = [];
  const persist = persistence(daemon, env.later, log);
  const state = new HostState(daemon, persist);
  const runtime = new PageRuntime(table, {
    daemon,
    state,
    log,
    environment: env,
    persist,
    realms,
    realmRuntime: "",
    painted: (done) => done(0),
    isVisible: () => true,
    safe,
    leftSafeMode: () => left.push("left"),
    asker: {
      ask: ({ name, words, detail }) => {
        questions.push(`Let ${name} ${words}? ${detail}`);
        const answer = answers.shift();
        return answer === undefined
          ? Promise.reject(new Error("asked once too often"))
          : Promise.resolve(answer);
      },
      withdraw: () => undefined,
      unsaved: new Signal(),
    },
    place: ({ id }) => ({
      ui: makeUi(
        {
          card: (title) => {
            cards.add(id);
            return new FakeScreen(log.scope(id)).card(title);
          },
          failed: () => undefined,
        },
        2 * MOST_CELLS,
      ),
      remove: () => cards.delete(id),
    }),
  });
  return { runtime, daemon, state, env, realms, cards, questions, lines, left };
}

/** What a daemon's plugins were allowed, as another page knows it. */
export function bookOf(daemon: Daemon, { later } = new FakeEnvironment()): GrantBook {
  return new GrantBook(new HostState(daemon, persistence(daemon, later, { add: () => undefined })));
}

/** Open a page, and connect it to a daemon where its plugins are installed. */
export async function connected(table: readonly Entry[], given: Given = {}): Promise<Fixture> {
  const page = fixture(table, given);
  page.daemon.opened.emit();
  void page.runtime.installed(page.runtime.plugins().map(({ id }) => ({ id, keyId: KEY })));
  await quiet();
  await quiet();
  return page;
}

/** The table's entry of a plugin that can be loaded. */
export function entry(id: string, plugin: Omit<Plugin, "id">, manifest: object = {}): Entry {
  return {
    manifest: { id, name: id, version: "1.0.0", ...manifest },
    text: textOf(() => ({ id, ...plugin })),
  };
}

/** The manifest that a page reads. */
export function manifestOf(fields: object): Manifest {
  const manifest = readManifest({ id: "some-plugin", ...fields });
  if (manifest === undefined) {
    throw new Error("the manifest is not usable");
  }
  return manifest;
}

/** A page with one plugin, and the plugin's context. */
export async function running(
  permissions: readonly string[],
  { manifest = {}, settings = {}, deactivate = () => undefined, ...given }: GivenPlugin = {},
): Promise<Fixture & { readonly ctx: Context }> {
  const contexts: Context[] = [];
  const activate = (ctx: Context): void => void contexts.push(ctx);
  const plugin = { settings, activate, deactivate };
  const page = await connected([entry("some-plugin", plugin, { permissions, ...manifest })], given);
  const [ctx] = contexts;
  if (ctx === undefined) {
    throw new Error(page.runtime.plugins()[0]?.error);
  }
  page.daemon.asked.length = 0;
  page.daemon.given.length = 0;
  return { ...page, ctx };
}

/** Each plugin of a page, and how far it is. */
export const stages = ({ runtime }: Fixture): string[] =>
  runtime.plugins().map(({ id, stage }) => `${id} ${stage}`);
