/** Evaluating snippets, and doing many things in turn. */

import { evaluator, pageTools } from "../../bridge/reference/packages/host/src/evaluation.js";
import { concurrencyLimiter } from "../../bridge/reference/packages/host/src/concurrency.js";
import { FakeEnvironment, equal, failure } from "./fakeenvironment.js";

export const evaluationScenarios = {
  /** It may await, and uses what is in scope by name. */
  async snippet_is_an_async_body() {
    const evaluate = evaluator({ a: 1, b: 2 });
    equal(await evaluate("return await Promise.resolve(a + b)"), 3);
    equal((await evaluate("")) === undefined, true);
  },

  /** What it throws comes out as it is; it may not even be JavaScript. */
  async snippet_that_throws() {
    const evaluate = evaluator({});
    equal((await failure(evaluate("throw new TypeError('no')"))).message, "no");
    equal((await failure(evaluate("return absent"))).name, "ReferenceError");
    equal((await failure(evaluate("return ("))).name, "SyntaxError");
  },

  /** `sleep` waits. */
  async snippet_sleeps() {
    const env = new FakeEnvironment();
    let value: unknown;
    const evaluate = evaluator(pageTools(env.later));
    void evaluate("await sleep(500); return 1").then((answer) => {
      value = answer;
    });
    await env.pass(499);
    equal(value, undefined);
    await env.pass(1);
    equal(value, 1);
  },

  /** Never more than so many run, in order, and one that fails stops none. */
  async work_in_turn() {
    const env = new FakeEnvironment();
    const inTurn = concurrencyLimiter(3);
    const ended: number[] = [];
    let running = 0;
    let most = 0;
    for (let n = 0; n < 60; n += 1) {
      const work = async (): Promise<void> => {
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => env.later(10, resolve));
        running -= 1;
        ended.push(n);
        if (n % 7 === 0) {
          throw new Error("this one fails");
        }
      };
      inTurn(work).catch(() => undefined);
    }
    await env.pass(200);
    equal(most, 3);
    equal(ended, [...Array(60).keys()]);
    equal(await inTurn(() => Promise.resolve("free again")), "free again");
  },
};
