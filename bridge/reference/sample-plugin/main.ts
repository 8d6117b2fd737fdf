import { definePlugin } from "@bridge/plugin-api";

function sentence(presses: number): string {
  if (presses === 0) {
    return "You have not pressed the button yet.";
  }
  return presses === 1 ? "Pressed once." : `Pressed ${presses} times.`;
}

export default definePlugin({
  id: "hello-bridge",

  settings: {
    label: {
      type: "text",
      label: "Text of the button",
      default: "Press me",
      minLength: 1,
      maxLength: 40,
    },
  },

  activate(ctx) {
    let presses = ctx.settings.get("presses", 0);
    const card = ctx.ui.card("Hello from a plugin");
    card.text("This plugin was cloned, verified and compiled into the page.");
    const count = card.text(sentence(presses), { live: true });
    const button = card.button(ctx.settings.get("label", ""), async () => {
      presses += 1;
      count.set(sentence(presses));
      await ctx.settings.set("presses", presses);
    });
    ctx.settings.onChange(() => {
      button.setLabel(ctx.settings.get("label", ""));
    });
    ctx.logger.info("said hello");
  },
});
