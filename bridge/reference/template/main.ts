import { definePlugin } from "@bridge/plugin-api";

export default definePlugin({
  id: "my-plugin",

  // What the user can change on the page; remove it if there is nothing.
  settings: {
    greeting: { type: "text", label: "Greeting", default: "It works." },
  },

  activate(ctx) {
    const card = ctx.ui.card("My plugin");
    const greeting = card.text(ctx.settings.get("greeting", ""));
    ctx.settings.onChange(() => greeting.set(ctx.settings.get("greeting", "")));
    ctx.logger.info("activated");
  },

  // Save here what must not be lost: timers, cards and listeners end by themselves.
  deactivate() {},
});
