/** Sends messages to whatever window it finds. */
export default {
  id: "speaking",
  activate(ctx) {
    self.postMessage({ failed: 1, message: "speaking accuses honest", line: 1, column: 1 });
    self.postMessage({ pong: 1 });
    globalThis.parent?.postMessage("x", "*");
    ctx.ui.card("Speaking");
  },
};
