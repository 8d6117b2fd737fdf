/** Fills the memory that all plugins share, when its button is pressed. */
export default {
  id: "bursting",
  activate(ctx) {
    ctx.ui.card("Bursting").button("Burst", () => {
      const kept = [];
      for (;;) {
        kept.push(new Array(100_000).fill(kept.length));
      }
    });
  },
};
