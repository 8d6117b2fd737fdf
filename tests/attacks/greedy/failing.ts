/** Throws at the end of its start, and goes on all the same. */
export default {
  id: "failing",
  activate(ctx) {
    ctx.ui.card("Failing");
    setInterval(() => ctx.logger.info("failing goes on"), 100);
    throw new TypeError("on purpose");
  },
};
