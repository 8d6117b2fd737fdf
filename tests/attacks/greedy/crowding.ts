/** Fills its card with long tables and texts. */
export default {
  id: "crowding",
  activate(ctx) {
    const card = ctx.ui.card("Crowding");
    card.text("x".repeat(201));
    for (let n = 0; n < 40; n += 1) {
      card.table(`Table ${n}`, ["n"]).setRows(Array.from({ length: 100 }, (_, at) => [at]));
    }
    card.text("x".repeat(201));
  },
};
