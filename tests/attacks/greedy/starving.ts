/** Makes 150 calls each 100 milliseconds with a permission that it has. */
export default {
  id: "starving",
  activate(ctx) {
    ctx.ui.card("Starving");
    setInterval(() => {
      for (let n = 0; n < 150; n += 1) {
        ctx.native.targets().catch(() => undefined);
      }
    }, 100);
  },
};
