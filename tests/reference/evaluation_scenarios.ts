/** Evaluating snippets, and doing many things in turn. */

import { BridgeError } from "@bridge/plugin-api";

import type { Push } from "../../bridge/reference/packages/host/src/connection.js";
import {
  answerSnippets,
  evaluate,
  pageTools,
} from "../../bridge/reference/packages/host/src/evaluation.js";
import { Log } from "../../bridge/reference/packages/host/src/log.js";
import { plain } from "../../bridge/reference/packages/host/src/plainvalue.js";
import { Signal } from "../../bridge/reference/packages/host/src/signal.js";
import { concurrencyLimiter } from "../../bridge/reference/packages/host/src/concurrency.js";
import { World, equal, settle } from "./world.js";

const ID = "abcdefghij_ABCDEFGHIJ-";
const MOST = 524_288;

/** A page that answers snippets, and the daemon that hears it. */
class Answering {
  readonly pushes = new Signal<Push>();
  readonly calls: unknown[] = [];
  readonly warnings: string[] = [];
  refuses: string[] = [];

  constructor() {
    const log = new Log(new World(), () => true);
    log.recorded.listen(({ message }) => this.warnings.push(message));
    answerSnippets(this, { host: "the host" }, log);
  }

  call = (service: string, method: string, params: object = {}): Promise<unknown> => {
    this.calls.push([`${service}/${method}`, params]);
    const code = this.refuses.shift();
    return code === undefined
      ? Promise.resolve({ delivered: true })
      : Promise.reject(new BridgeError(code, "not so"));
  };

  async push(data: unknown): Promise<void> {
    this.pushes.emit({ event: "remote", data });
    await settle();
  }
}

export const evaluationScenarios = {
  async snippet_is_an_async_body() {
    equal(await evaluate("return await Promise.resolve(a + b)", { a: 1, b: 2 }), {
      ok: true,
      value: 3,
    });
    equal(await evaluate("", {}), { ok: true, value: null });
  },

  async snippet_that_throws() {
    const thrown = async (code: string): Promise<string> => {
      const answer = await evaluate(code, {});
      return answer.ok ? "nothing" : answer.error;
    };
    equal(await thrown("throw new RangeError('far')"), "RangeError: far");
    equal(await thrown("await Promise.reject(new TypeError('no'))"), "TypeError: no");
    equal(await thrown("throw 7"), "7");
    equal(await thrown("throw Object.create(null)"), "[object Object]");
    equal((await thrown("return ((")).split(":")[0], "SyntaxError");
    equal((await thrown("throw new Error('x'.repeat(1e6))")).length, MOST);
    equal(await thrown("throw new Error('\\ud800')"), "Error: \ufffd");
  },

  value_that_will_not_serialise() {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    equal(plain(circle), "[object Object]");
    equal(plain(10n), "10");
    equal(plain(Symbol("s")), "Symbol(s)");
    equal(plain(undefined), null);
    equal(plain([undefined, NaN, { f: () => 1 }]), [null, null, {}]);
    equal(plain(Object.create(null)), {});
    const nothing = Object.assign(Object.create(null) as object, { a: 1n });
    equal(plain(nothing), "[object Object]");
  },

  value_that_is_no_text() {
    equal(plain({ "\ud800": "a\udc00\\ud800😀" }), { "\ufffd": "a\ufffd\\ud800😀" });
  },

  value_that_is_too_long() {
    const fits = "x".repeat(MOST - 2);
    equal(plain(fits), fits);
    equal(plain(`${fits}x`), { truncated: true, chars: MOST + 1, head: `"${fits}x` });
    const faces = plain("😀".repeat(MOST)) as { chars: number; head: string };
    equal([faces.chars, faces.head.length], [2 * MOST + 2, MOST - 1]);
  },

  async snippet_is_answered() {
    const page = new Answering();
    await page.push({ id: ID, code: "return host" });
    equal(page.calls, [["remote/result", { id: ID, ok: true, value: "the host" }]]);
    page.pushes.emit({ event: "other", data: { id: ID, code: "return host" } });
    await settle();
    equal(page.calls.length, 1);
  },

  async snippet_without_a_usable_id() {
    const page = new Answering();
    for (const id of ["", "short", `${ID}x`, 7, `${ID.slice(1)}=`]) {
      await page.push({ id, code: "return 1" });
    }
    equal(page.calls, []);
    equal(page.warnings.length, 5);
  },

  async answer_the_daemon_refuses() {
    const page = new Answering();
    page.refuses = ["bad_request"];
    await page.push({ id: ID, code: "return 1" });
    const error = "the daemon takes no such value: not so";
    equal(page.calls[1], ["remote/result", { id: ID, ok: false, error }]);
    page.refuses = ["disconnected"];
    await page.push({ id: ID, code: "return 1" });
    equal(page.calls.length, 3);
    page.refuses = ["bad_request", "timeout"];
    await page.push({ id: ID, code: "return 1" });
    equal(page.warnings, ["BridgeError: not so"]);
  },

  async snippet_sleeps() {
    const world = new World();
    let value: unknown;
    void evaluate("await sleep(500); return 1", pageTools(world.later)).then((answer) => {
      value = answer;
    });
    await world.pass(499);
    equal(value, undefined);
    await world.pass(1);
    equal(value, { ok: true, value: 1 });
  },

  async work_in_turn() {
    const world = new World();
    const inTurn = concurrencyLimiter(3);
    const ended: number[] = [];
    let running = 0;
    let most = 0;
    for (let n = 0; n < 60; n += 1) {
      const work = async (): Promise<void> => {
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => world.later(10, resolve));
        running -= 1;
        ended.push(n);
        if (n % 7 === 0) {
          throw new Error("this one fails");
        }
      };
      inTurn(work).catch(() => undefined);
    }
    await world.pass(200);
    equal(most, 3);
    equal(ended, [...Array(60).keys()]);
    equal(await inTurn(() => Promise.resolve("free again")), "free again");
  },
};
