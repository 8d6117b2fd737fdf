/** Takes its port from the runtime, and sends messages of a megabyte. */
export default {
  id: "swelling",
  activate(ctx) {
    const { postMessage } = MessagePort.prototype;
    MessagePort.prototype.postMessage = function (...given) {
      for (let n = 0; n < 300; n += 1) {
        postMessage.call(this, "x".repeat(2_000_000));
      }
    };
    ctx.logger.info("now");
  },
};
