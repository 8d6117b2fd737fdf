/** Logs as much as it can. */
export default {
  id: "logging",
  activate(ctx) {
    setInterval(() => {
      for (let n = 0; n < 200; n += 1) {
        ctx.logger.info(`logging ${"x".repeat(5_000)}`);
      }
    }, 20);
  },
};
