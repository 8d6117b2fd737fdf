import { definePlugin } from "@bridge/plugin-api";

import * as elements from "./elements.js";
import * as errors from "./errors.js";
import * as evaluation from "./evaluation.js";
import * as functions from "./functions.js";
import * as handles from "./handles.js";
import * as intrinsics from "./intrinsics.js";
import { Loot } from "./common/loot.js";
import * as names from "./names.js";
import * as navigation from "./navigation.js";
import * as requests from "./requests.js";
import * as timers from "./timers.js";
import * as workers from "./workers.js";

const FAMILIES = {
  elements,
  errors,
  evaluation,
  functions,
  handles,
  intrinsics,
  names,
  navigation,
  requests,
  timers,
  workers,
};

/** Runs the attack whose id is entered in its field, and undoes the one before. */
export default definePlugin({
  id: "attacker",
  activate(ctx) {
    const card = ctx.ui.card("Attacker");
    const shown = card.text("");
    const state = card.text("");
    let undo;
    card.input("Attack", {
      async changed({ value }) {
        const loot = new Loot(shown, state);
        const [id, elsewhere] = value.split(" ");
        const [family, name] = id.split(".");
        try {
          undo?.();
          undo = await FAMILIES[family]?.[name]?.({ card, ctx, elsewhere, loot });
          loot.over();
        } catch (e) {
          loot.stopped(`${e}`);
        }
      },
    });
  },
});
