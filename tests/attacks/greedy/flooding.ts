/** Takes its port from the runtime, and sends what it likes. */
export default {
  id: "flooding",
  activate(ctx) {
    const { postMessage } = MessagePort.prototype;
    MessagePort.prototype.postMessage = function (...given) {
      for (let n = 0; n < 200_000; n += 1) {
        postMessage.call(this, "x".repeat(200));
      }
    };
    ctx.logger.info("now");
  },
};
