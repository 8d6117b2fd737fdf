/** Takes its port from the runtime when it runs, and sends a port with each text. */
export default {
  id: "porting",
  activate(ctx) {
    setTimeout(() => {
      const { postMessage } = MessagePort.prototype;
      MessagePort.prototype.postMessage = function (text) {
        postMessage.call(this, text, [new MessageChannel().port1]);
      };
      ctx.logger.info("now");
    }, 500);
  },
};
