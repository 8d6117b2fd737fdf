/** What plugins share: the connection, the log, the store. */

import { browser } from "../../bridge/reference/packages/host/src/environment.js";
import type { Caller } from "../../bridge/reference/packages/host/src/link.js";
import { Log } from "../../bridge/reference/packages/host/src/log.js";
import { PageSettings, readSettings } from "../../bridge/reference/packages/host/src/pagesettings.js";
import type { Values } from "../../bridge/reference/packages/host/src/settings.js";
import { Signal } from "../../bridge/reference/packages/host/src/signal.js";
import { readSchema } from "../../bridge/reference/packages/api/src/schemarules.js";
import { Turns } from "../../bridge/reference/packages/host/src/turns.js";
import { Daemon } from "./pagefixture.js";
import { FakeEnvironment, equal, refusal, settle } from "../../clients/typescript/test/fakeenvironment.js";

/** A daemon that answers when a scenario has it do so. */
class SlowDaemon {
  readonly asked: string[] = [];
  readonly opened = new Signal();
  isOpen = true;
  #answers: ((value: unknown) => void)[] = [];

  readonly call = ((method: string, params: object = {}): Promise<unknown> => {
    this.asked.push([method, ...Object.values(params)].join(" "));
    return new Promise((resolve) => this.#answers.push(resolve));
  }) as Caller["call"];

  /** Answer everything; returns what was asked since the last time. */
  async answer(): Promise<string[]> {
    this.#answers.splice(0).forEach((resolve) => resolve({}));
    await settle();
    return this.asked.splice(0);
  }
}

export const shareScenarios = {
  /** The clock that is set changes no share, and no list of what has died. */
  a_clock_that_is_set_back() {
    const { now } = Date;
    const before = browser.now();
    Date.now = () => -1;
    const [passed, date] = [browser.now() - before, browser.date()];
    Date.now = now;
    equal([passed >= 0, date], [true, -1]);
  },

  /** Plugins take turns, at a rate that leaves the page a share. */
  async test_attack_calls_that_starve_others() {
    const env = new FakeEnvironment();
    const daemon = new SlowDaemon();
    const turns = new Turns(daemon, env);
    const [evil, victim] = [turns.of(), turns.of()];
    for (let n = 0; n < 150; n += 1) {
      void evil.call("notify/send", { n } as never);
    }
    void victim.call("state/set", { n: "a" } as never);
    // As many as leave the daemon's rate to the page; then the victim has its turn.
    equal(daemon.asked.length, 6);
    await daemon.answer();
    await env.pass(500);
    equal(await daemon.answer(), ["notify/send 6", "state/set a"]);
    // Ten seconds of it: the victim loses none of its writes.
    const writes: Promise<unknown>[] = [];
    let sent = 0;
    for (let second = 0; second < 10; second += 1) {
      writes.push(victim.call("state/set", { n: second } as never));
      await env.pass(1_000);
      sent += (await daemon.answer()).length;
    }
    await Promise.all(writes);
    equal(sent <= 40, true);
    // However long the pause was before.
    await env.pass(60_000);
    while ((await daemon.answer()).length > 0) {
      await env.pass(60_000);
    }
    for (let n = 0; n < 20; n += 1) {
      void evil.call("notify/send", { n } as never);
    }
    equal((await daemon.answer()).length, 6);
    // Light calls have a rate of their own.
    void evil.call("osc/send", { n: "light" } as never);
    equal(daemon.asked, ["osc/send light"]);
  },

  /** What a plugin has waiting when it is switched off is not sent, nor what it calls then. */
  async test_attack_calls_after_the_end() {
    const env = new FakeEnvironment();
    const daemon = new SlowDaemon();
    const evil = new Turns(daemon, env).of();
    for (let n = 0; n < 6; n += 1) {
      void evil.call("outbound/fetch", { n } as never);
    }
    const waiting = refusal(evil.call("notify/send"));
    evil.close();
    equal(await waiting, "PermissionError");
    equal(await refusal(evil.call("notify/send")), "PermissionError");
    equal(daemon.asked.length, 6);
    daemon.asked.length = 0;
    await daemon.answer();
    await env.pass(60_000);
    equal(daemon.asked, []);
  },

  /** With the next one they take turns after the page; else they are refused. */
  async test_attack_calls_that_wait_for_a_connection() {
    const env = new FakeEnvironment();
    const daemon = new SlowDaemon();
    const turns = new Turns(daemon, env);
    const [evil, victim] = [turns.of(), turns.of()];
    daemon.isOpen = false;
    const refused: string[] = [];
    const call = (): void => {
      evil.call("notify/send").catch((e: { code: string }) => refused.push(e.code));
    };
    for (let n = 0; n < 20; n += 1) {
      call();
    }
    await env.pass(3_000);
    for (let n = 0; n < 100; n += 1) {
      call();
    }
    const written = victim.call("state/set", { n: "a" } as never);
    await env.pass(1_000);
    equal([daemon.asked.length, refused.length, refused[0]], [0, 20, "disconnected"]);
    // With the next connection they take turns from the start, below the page's rate.
    daemon.isOpen = true;
    daemon.opened.emit();
    equal(daemon.asked.length, 0);
    await env.pass(0);
    equal(daemon.asked.length, 6);
    equal(daemon.asked.includes("state/set a"), true);
    await daemon.answer();
    await written;
    // What waits for its turn waits on.
    await env.pass(4_000);
    equal(refused.length, 20);
    // A connection that is lost again sends no more.
    daemon.isOpen = false;
    await daemon.answer();
    await env.pass(4_000);
    equal([daemon.asked.length, refused.length], [0, 20 + 100 - 5 - 16]);
    evil.close();
    await env.pass(60_000);
    equal(refused.length, 99);
  },

  /** Lines beyond a plugin's share are counted in one line. */
  async test_attack_log_that_hides_what_happened() {
    const env = new FakeEnvironment();
    const mirrored: string[] = [];
    const log = new Log(env, (level, scope, message) => {
      mirrored.push(`${level} ${scope} ${message}`);
    });
    const lines = (): string[] => mirrored.splice(0);
    for (let n = 0; n < 1_000; n += 1) {
      log.scope("evil").error(`line ${n}`);
    }
    log.scope("other").info("x".repeat(3_000));
    log.add("info", "host", "of the page");
    const first = lines();
    equal(first.length, 52);
    equal(first.at(-2)?.length, "info other ".length + 2_000);
    await env.pass(1_000);
    equal(lines(), ["warn evil 950 more lines were left out"]);
    for (let n = 0; n < 60; n += 1) {
      log.scope("evil").error("again");
    }
    await env.pass(1_000);
    equal(lines().at(-1), "warn evil 10 more lines were left out");
  },

  /** A plugin's settings have a megabyte. */
  async test_attack_settings_that_fill_the_store() {
    const daemon = new Daemon();
    const read = (): Promise<Values> => readSettings(daemon, "evil");
    const settings = new PageSettings(daemon, daemon, "evil", await read(), read);
    const big = "x".repeat(60_000);
    const outcomes: string[] = [];
    for (let n = 0; n < 134; n += 1) {
      outcomes.push(await settings.set(`key-${n}`, big).then(() => "", (e: { code: string }) => e.code));
    }
    const kept = outcomes.filter((outcome) => outcome === "").length;
    equal([kept, outcomes.at(-1)], [Math.floor(1_048_576 / 60_000), "too_large"]);
    equal([daemon.stored.size, settings.get("key-133")], [kept, undefined]);
    // What it has can become smaller, or another of the same size.
    await settings.set("key-0", "y".repeat(60_000));
    await settings.set("key-0", "");
    await settings.set("key-133", big);
    equal(daemon.stored.get("key-133"), big);
    // Also by the user's reset.
    settings.declare(readSchema({ "key-133": { type: "text", label: "Words", default: "" } }));
    await settings.reset();
    await settings.set("key-132", big);
    equal([daemon.stored.has("key-133"), daemon.stored.get("key-132")], [false, big]);
  },
};
