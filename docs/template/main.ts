import { definePlugin } from "@bridge/plugin-api";

export default definePlugin({
  id: "my-plugin",

  activate(ctx) {
    const card = ctx.ui.card("My plugin");
    card.text("It works.");
    ctx.logger.info("activated");
  },
});
