import type { MethodName, Progress, State } from "../../bridge/reference/packages/client/src/index.js";
import type { Installed } from "../../bridge/reference/packages/host/src/grants.js";
import { HostState } from "../../bridge/reference/packages/host/src/hoststate.js";
import type { Link } from "../../bridge/reference/packages/host/src/link.js";
import { Log } from "../../bridge/reference/packages/host/src/log.js";
import { PageModel } from "../../bridge/reference/packages/host/src/model/model.js";
import { Questions } from "../../bridge/reference/packages/host/src/model/questions.js";
import { persistence } from "../../bridge/reference/packages/host/src/persistence.js";
import type { PageRuntime, PluginState } from "../../bridge/reference/packages/host/src/pageruntime.js";
import { Preferences } from "../../bridge/reference/packages/host/src/preferences.js";
import { Signal } from "../../bridge/reference/packages/host/src/signal.js";
import { Daemon, Memory } from "./pagefixture.js";
import { FakeEnvironment, quiet } from "../../clients/typescript/test/fakeenvironment.js";

/** A refusal, as the client throws it. */
export function refused(message: string, code = "bad_request"): Error {
  return Object.assign(new Error(message), { code });
}

export class FakeLink extends Daemon implements Link {
  readonly changed = new Signal();
  readonly closes: readonly string[] = [];
  readonly endpoint = "http://127.0.0.1:42081";
  state: State = "connected";
  reason = "";
  token = "";
  version = "1.2.3";
  #progress = (_: Progress): void => undefined;

  called(method: string): object[] {
    return this.given.filter((_, n) => this.asked[n]?.split(" ")[0] === method).map(([params]) => params);
  }

  readonly operate = ((
    method: MethodName,
    params: object,
    { onProgress }: { onProgress(step: Progress): void },
  ) => {
    this.#progress = onProgress;
    return this.call(method, params as never);
  }) as Link["operate"];

  /** Report a step of the operation that was begun last. */
  step(step: Partial<Progress>): void {
    const usual = { operation: "7", op: "", id: null, ref: null, step: "", message: "" };
    this.#progress({ ...usual, cancellable: true, ...step });
  }

  become(state: State, reason = ""): void {
    const opened = state === "connected" && !this.isOpen;
    this.isOpen = opened || (this.isOpen && ["connected", "stalled"].includes(state));
    this.state = state;
    this.reason = reason;
    if (opened) {
      this.opened.emit();
    }
    this.changed.emit();
  }

  pair(token: string): void {
    this.token = token;
    this.become("detecting");
  }

  retry(): void {
    this.become("detecting");
  }
}

export function runs(id: string, more: Partial<PluginState> = {}): PluginState {
  return {
    id,
    name: id,
    version: "1.0.0",
    stage: "running",
    error: "",
    enabled: true,
    silent: false,
    ...more,
  };
}

/** A runtime without plugins of its own. */
export class FakeRuntime {
  readonly changed = new Signal();
  states: PluginState[] = [];
  /** Whether a switch is saved. */
  saves = true;
  /** What was said to be installed, the last time. */
  listed: readonly Installed[] = [];
  isSafe = false;

  plugins(): readonly PluginState[] {
    return this.states;
  }

  setEnabled(): Promise<void> {
    return this.saves ? Promise.resolve() : Promise.reject(refused("not now"));
  }

  installed(plugins: readonly Installed[]): Promise<void> {
    this.listed = plugins;
    return Promise.resolve();
  }
}

export interface ModelFixture {
  readonly model: PageModel;
  readonly link: FakeLink;
  readonly runtime: FakeRuntime;
  readonly env: FakeEnvironment;
  readonly session: Memory;
  /** What screen readers announce; urgent lines begin with `!`. */
  readonly said: string[];
  /** The fragment in the address bar, and how often the page was loaded again. */
  readonly bar: { fragment: string; reloads: number };
}

/** Open a page that is not connected yet. */
export function openPage(session = new Memory()): ModelFixture {
  const env = new FakeEnvironment();
  const link = new FakeLink();
  link.state = "detecting";
  link.isOpen = false;
  const runtime = new FakeRuntime();
  const log = new Log(env, () => undefined);
  const persist = persistence(link, env.later, log);
  const bar = { fragment: "", reloads: 0 };
  let refs = 0;
  const model = new PageModel({
    link,
    persist,
    state: new HostState(link, persist),
    runtime: runtime as unknown as PageRuntime,
    questions: new Questions(env.later),
    log,
    preferences: new Preferences(new Memory()),
    cards: { changed: new Signal() } as never,
    environment: env,
    tab: {
      session,
      bar: {
        read: () => bar.fragment,
        write: (fragment) => {
          bar.fragment = fragment;
        },
      },
      newRef: () => `ref-${(refs += 1)}`,
      reload: () => (bar.reloads += 1),
    },
  });
  const said: string[] = [];
  const { announced } = model.announcer;
  announced.listen(({ words, urgent }) => said.push(urgent ? `!${words}` : words));
  return { model, link, runtime, env, session, said, bar };
}

/** Open a page, and connect it to a daemon with these plugins. */
export async function connectedPage(
  plugins: readonly object[] = [],
  states: PluginState[] = [],
): Promise<ModelFixture> {
  const fixture = openPage();
  fixture.runtime.states = states;
  fixture.link.answers.set("plugins/list", { plugins, broken: [] });
  fixture.link.become("connected");
  await quiet();
  return fixture;
}
