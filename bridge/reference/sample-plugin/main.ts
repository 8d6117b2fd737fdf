import { definePlugin } from "@bridge/plugin-api";

function sentence(presses: number): string {
  if (presses === 0) {
    return "You have not pressed the button yet.";
  }
  return presses === 1 ? "Pressed once." : `Pressed ${presses} times.`;
}

export default definePlugin({
  id: "hello-bridge",

  activate(ctx) {
    let presses = ctx.settings.get("presses", 0);
    const card = ctx.ui.card("Hello from a plugin");
    card.text("This plugin was cloned, verified and compiled into the page.");
    const count = card.text(sentence(presses));
    card.button("Press me", async () => {
      presses += 1;
      count.textContent = sentence(presses);
      await ctx.settings.set("presses", presses);
    });
    ctx.logger.info("said hello");
  },
});
