/** A plugin as its author types it, with each part of the context. */

import { API_VERSION, BridgeError, definePlugin } from "@bridge/plugin-api";
import type { Context } from "@bridge/plugin-api";

export const version: string = API_VERSION;
export const error: BridgeError = new BridgeError("timeout", "late");
export default definePlugin({
  id: "some-plugin",
  settings: { volume: { type: "number", label: "Volume", default: 1, max: 2 } },
  async activate(ctx: Context) {
    const { rows } = await ctx.sql.query("sample", "SELECT 1");
    const response = await ctx.http.fetch("https://example.org/");
    const end = await ctx.osc.listen(({ address }) => ctx.logger.info(address));
    ctx.ui.card(`${rows.length} ${response.status} ${ctx.settings.get("volume", 1)}`);
    end();
  },
});
