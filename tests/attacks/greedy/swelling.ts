/** Takes its port from the runtime when it runs, and sends messages of a megabyte. */
export default {
  id: "swelling",
  activate(ctx) {
    const { postMessage } = MessagePort.prototype;
    setTimeout(() => {
      MessagePort.prototype.postMessage = function (...given) {
        for (let n = 0; n < 300; n += 1) {
          postMessage.call(this, "x".repeat(2_000_000));
        }
      };
      ctx.logger.info("now");
    }, 500);
  },
};
