/** Fills its settings until nothing more is accepted. */
export default {
  id: "filler",
  activate(ctx) {
    const card = ctx.ui.card("Filler");
    const shown = card.text("");
    let refused = "";
    for (let n = 0; n < 134; n += 1) {
      ctx.settings.set(`k${n}`, "x".repeat(60_000)).catch((e) => {
        refused = e.code;
        shown.set(`refused: ${refused}`);
      });
    }
  },
};
