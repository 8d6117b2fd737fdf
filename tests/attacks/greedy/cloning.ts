/** Takes its port from the runtime when its button is pressed, and sends what it may not. */
export default {
  id: "cloning",
  activate(ctx) {
    ctx.ui.card("Cloning").button("Send", () => {
      const { postMessage } = MessagePort.prototype;
      MessagePort.prototype.postMessage = function () {
        postMessage.call(this, ["an object of any size"]);
      };
      throw new Error("a message of any size".repeat(1_000));
    });
  },
};
