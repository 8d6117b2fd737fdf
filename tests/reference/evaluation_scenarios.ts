/** Evaluating snippets, and doing many things in turn. */

import { evaluator, pageTools } from "../../bridge/reference/packages/host/src/evaluation.js";
import { concurrencyLimiter } from "../../bridge/reference/packages/host/src/concurrency.js";
import { FakeEnvironment, equal, failure } from "../../clients/typescript/test/fakeenvironment.js";

export const evaluationScenarios = {
  /** A snippet awaits, and uses what is in scope by name; what it throws comes out as it is. */
  async snippets() {
    const env = new FakeEnvironment();
    const evaluate = evaluator({ ...pageTools(env.later), a: 1 });
    let value: unknown;
    void evaluate("await sleep(500); return a").then((answer) => {
      value = answer;
    });
    await env.pass(499);
    equal(value, undefined);
    await env.pass(1);
    equal(value, 1);
    equal((await failure(evaluate("throw new TypeError('no')"))).message, "no");
    equal((await failure(evaluate("return ("))).name, "SyntaxError");
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
