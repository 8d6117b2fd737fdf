/** Never ends its start, nor its end. */
export default {
  id: "unending",
  activate(ctx) {
    ctx.ui.card("Unending");
    setInterval(() => ctx.logger.info("unending goes on"), 300);
    return new Promise(() => undefined);
  },
  deactivate: () => new Promise(() => undefined),
};
