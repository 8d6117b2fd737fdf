/** A connection that the scenarios answer, and a model on it. */

import type { State } from "../../bridge/reference/packages/client/src/index.js";
import type { Installed } from "../../bridge/reference/packages/host/src/grants.js";
import { Log } from "../../bridge/reference/packages/host/src/log.js";
import { Announcer } from "../../bridge/reference/packages/host/src/model/announcer.js";
import { HostState } from "../../bridge/reference/packages/host/src/model/hoststate.js";
import type { Link, Step } from "../../bridge/reference/packages/host/src/model/link.js";
import { LogBuffer } from "../../bridge/reference/packages/host/src/model/logbuffer.js";
import { PageModel } from "../../bridge/reference/packages/host/src/model/model.js";
import { Navigation } from "../../bridge/reference/packages/host/src/model/navigation.js";
import { Questions } from "../../bridge/reference/packages/host/src/model/questions.js";
import { PluginCatalog } from "../../bridge/reference/packages/host/src/model/catalog.js";
import { Operations } from "../../bridge/reference/packages/host/src/model/operations.js";
import { Preferences } from "../../bridge/reference/packages/host/src/preferences.js";
import type { PluginState, Runtime, Switched } from "../../bridge/reference/packages/host/src/runtime.js";
import { Signal } from "../../bridge/reference/packages/host/src/signal.js";
import { Memory } from "./pagestand.js";
import { World, settle } from "./world.js";

type Answer = (params: { readonly [name: string]: unknown }) => unknown;

/** A refusal, as the client throws it. */
export function refused(message: string, code = "bad_request"): Error {
  return Object.assign(new Error(message), { code });
}

export class FakeLink implements Link {
  readonly changed = new Signal();
  readonly closes: readonly string[] = [];
  readonly endpoint = "http://127.0.0.1:42081";
  state: State = "connected";
  reason = "";
  version = "1.2.3";
  /** What was called, with its parameters. */
  readonly calls: [method: string, params: object][] = [];
  readonly answers = new Map<string, Answer>();
  readonly stored = new Map<string, unknown>();
  lacks = "";
  readonly #listeners = new Signal<{ readonly event: string; readonly data: unknown }>();
  #progress = (_: Step): void => undefined;

  has(method: string): boolean {
    return method !== this.lacks;
  }

  called(method: string): object[] {
    return this.calls.filter(([name]) => name === method).map(([, params]) => params);
  }

  async call(method: string, params: object = {}): Promise<unknown> {
    this.calls.push([method, params]);
    await settle();
    const answer = this.answers.get(method);
    if (answer !== undefined) {
      return answer(params as never);
    }
    const { key, value } = params as { key: string; value: unknown };
    switch (method) {
      case "state/list":
        return { entries: Object.fromEntries(this.stored) };
      case "state/set":
        this.stored.set(key, value);
        return {};
      case "state/delete":
        this.stored.delete(key);
        return {};
      default:
        return {};
    }
  }

  operate(
    method: string,
    params: object,
    { ref, onProgress }: { readonly ref?: string; onProgress(step: Step): void },
  ): Promise<unknown> {
    this.#progress = onProgress;
    return this.call(method, ref === undefined ? params : { ...params, ref });
  }

  /** Report a step of the operation that was begun last. */
  step(step: Partial<Step>): void {
    this.#progress({ operation: "7", op: "", id: "", step: "", message: "", cancellable: true, ...step });
  }

  on(event: string, listener: (data: unknown) => void): () => void {
    return this.#listeners.listen((push) => {
      if (push.event === event) {
        listener(push.data);
      }
    });
  }

  push(event: string, data: unknown): void {
    this.#listeners.emit({ event, data });
  }

  become(state: State, reason = ""): void {
    this.state = state;
    this.reason = reason;
    this.changed.emit();
  }

  pair(): void {
    this.become("detecting");
  }

  moveTo(): void {
    this.become("detecting");
  }

  retry(): void {
    this.become("detecting");
  }
}

/** A plugin of the bundle that runs. */
export function runs(id: string, more: Partial<PluginState> = {}): PluginState {
  return {
    id,
    name: id,
    version: "1.0.0",
    description: "",
    stage: "running",
    error: "",
    enabled: true,
    silent: false,
    ...more,
  };
}

/** A runtime without plugins of its own. */
export class FakeRuntime {
  states: PluginState[] = [];
  switched: Switched = "done";
  /** What was said to be installed, the last time. */
  listed: readonly Installed[] = [];
  safeMode = { active: false };
  readonly #changed = new Signal();

  plugins(): readonly PluginState[] {
    return this.states;
  }

  enabled(id: string): boolean {
    return this.states.find((state) => state.id === id)?.enabled ?? true;
  }

  setEnabled(): Promise<Switched> {
    return Promise.resolve(this.switched);
  }

  installed(plugins: readonly Installed[]): Promise<void> {
    this.listed = plugins;
    return Promise.resolve();
  }

  on(change: () => void): () => void {
    return this.#changed.listen(change);
  }
}

export interface ModelStand {
  readonly model: PageModel;
  readonly link: FakeLink;
  readonly runtime: FakeRuntime;
  readonly world: World;
  readonly session: Memory;
  /** What screen readers announce; urgent lines begin with `!`. */
  readonly said: string[];
  /** The fragment in the address bar. */
  readonly bar: { fragment: string };
}

/** Open a page that is not connected yet. */
export function openPage(session = new Memory()): ModelStand {
  const world = new World();
  const link = new FakeLink();
  link.state = "detecting";
  const runtime = new FakeRuntime();
  const memory = new HostState(link);
  const bar = { fragment: "" };
  const announcer = new Announcer();
  const said: string[] = [];
  announcer.announced.listen(({ words, urgent }) => said.push(urgent ? `!${words}` : words));
  const { now, later } = world;
  const log = new Log(world, () => undefined);
  let refs = 0;
  const newRef = (): string => {
    refs += 1;
    return `ref-${refs}`;
  };
  const navigation = new Navigation({
    read: () => bar.fragment,
    write: (fragment) => {
      bar.fragment = fragment;
    },
  });
  const model = new PageModel({
    link,
    runtime: runtime as unknown as Runtime,
    catalog: new PluginCatalog(link, memory, world),
    operations: new Operations({ link, storage: session, now, later, newRef }),
    memory,
    announcer,
    navigation,
    questions: new Questions(world.later),
    logBuffer: new LogBuffer(log, session),
    log,
    preferences: new Preferences(new Memory()),
    cards: { changed: new Signal() } as never,
    reload: () => undefined,
  });
  return { model, link, runtime, world, session, said, bar };
}

/** Wait until everything that was asked for is answered. */
export async function answered(): Promise<void> {
  for (let call = 0; call < 12; call += 1) {
    await settle();
  }
}

/** Open a page, and connect it to a daemon with these plugins. */
export async function connectedPage(
  plugins: readonly object[] = [],
  states: PluginState[] = [],
): Promise<ModelStand> {
  const stand = openPage();
  stand.runtime.states = states;
  stand.link.answers.set("plugins/list", () => ({ plugins, broken: [] }));
  stand.link.become("connected");
  await answered();
  return stand;
}

/** Answer the question that is shown, once it can be read. */
export async function press({ model, world }: ModelStand, yes: boolean): Promise<boolean> {
  const { questions } = model;
  questions.shown();
  await world.pass(500);
  const { current } = questions;
  return current !== undefined && questions.answer(current, yes);
}
