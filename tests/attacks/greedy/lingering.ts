/** Goes on with timers and has nothing that ends them. */
export default {
  id: "lingering",
  activate(ctx) {
    let n = 0;
    ctx.ui.card("Lingering");
    setInterval(() => {
      n += 1;
      ctx.ui.card(`Lingering ${n}`).remove();
      ctx.logger.info(`lingering goes on: ${n}`);
      ctx.settings.set("n", n).catch(() => undefined);
    }, 300);
  },
};
