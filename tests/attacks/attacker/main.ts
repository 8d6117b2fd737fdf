import * as api from "@bridge/plugin-api";

import * as elements from "./elements.js";
import * as errors from "./errors.js";
import * as evaluation from "./evaluation.js";
import * as functions from "./functions.js";
import * as host from "./host.js";
import * as intrinsics from "./intrinsics.js";
import { Loot } from "./loot.js";
import * as names from "./names.js";
import * as navigation from "./navigation.js";
import * as requests from "./requests.js";
import * as timers from "./timers.js";

const FAMILIES = {
  elements,
  errors,
  evaluation,
  functions,
  host,
  intrinsics,
  names,
  navigation,
  requests,
  timers,
};

// The server of the page replaces both words.
const CHOSEN = "@@attack@@";
const ELSEWHERE = "@@elsewhere@@";

/** Runs one of the attacks. */
export default api.definePlugin({
  id: "attacker",
  async activate(ctx) {
    const card = ctx.ui.card("Attacker");
    const loot = new Loot(card.text(""), card.text(""));
    const [family, name] = CHOSEN.split(".");
    try {
      await FAMILIES[family]?.[name]?.({ api, card, ctx, elsewhere: ELSEWHERE, loot });
    } catch (e) {
      loot.take(`Stopped: ${e}`);
    }
    loot.over();
  },
});
