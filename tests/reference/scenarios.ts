/** Run every scenario and print, as JSON, what went wrong in each; nothing, mostly. */

import { apiScenarios } from "./api_scenarios.js";
import { evaluationScenarios } from "./evaluation_scenarios.js";
import { handleScenarios } from "./handle_scenarios.js";
import { hostScenarios } from "./host_scenarios.js";
import { kitScenarios } from "./kit_scenarios.js";
import { pageScenarios } from "./page_scenarios.js";
import { questionScenarios } from "./question_scenarios.js";
import { realmScenarios } from "./realm_scenarios.js";
import { runtimeScenarios } from "./runtime_scenarios.js";
import { shareScenarios } from "./share_scenarios.js";

const MOST_MILLISECONDS = 5_000;

/** Wait for a scenario; rejects when a promise of it is never settled. */
async function ended(scenario: void | Promise<void>): Promise<void> {
  let timer = 0;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("it does not end")), MOST_MILLISECONDS);
  });
  await Promise.race([scenario, late]).finally(() => clearTimeout(timer));
}

const results: { [name: string]: string } = {};
const all: { [name: string]: () => void | Promise<void> } = {
  ...apiScenarios,
  ...evaluationScenarios,
  ...handleScenarios,
  ...hostScenarios,
  ...kitScenarios,
  ...pageScenarios,
  ...questionScenarios,
  ...realmScenarios,
  ...runtimeScenarios,
  ...shareScenarios,
};
for (const [name, scenario] of Object.entries(all)) {
  try {
    await ended(scenario());
    results[name] = "";
  } catch (e) {
    results[name] = e instanceof Error ? (e.stack ?? e.message) : String(e);
  }
}
console.log(JSON.stringify(results));
