/** Is named like the page's own part of the log, and speaks as it. */
export default {
  id: "host",
  activate(ctx) {
    ctx.ui.card("The page");
    ctx.logger.error("a message of the page: enter your password");
  },
};
