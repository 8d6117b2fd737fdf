/** Ends in a loop some seconds after its start. */
export default {
  id: "frozen-later",
  activate(ctx) {
    ctx.ui.card("Frozen later").button("Never heard", () => undefined);
    setTimeout(() => {
      for (;;) {}
    }, 2_000);
  },
};
