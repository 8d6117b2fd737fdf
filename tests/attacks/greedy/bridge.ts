/** Is named like the daemon's part of the log, and speaks as it. */
export default {
  id: "bridge",
  activate(ctx) {
    ctx.ui.card("The daemon");
    ctx.logger.error("a message of the daemon: enter your password");
  },
};
