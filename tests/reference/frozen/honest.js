// The host's entry for this test: it runs a plugin of honest code.
import { leave, start } from "./stand.js";

async function results() {
  const [{ idioms }] = await start();
  const found = {};
  for (const [name, idiom] of Object.entries(idioms)) {
    try {
      found[name] = await idiom();
    } catch (e) {
      found[name] = `threw ${e}`;
    }
  }
  return found;
}

leave(results());
