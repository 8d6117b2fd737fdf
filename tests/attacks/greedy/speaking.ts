/** Sends messages to whatever window it finds. */
export default {
  id: "speaking",
  activate(ctx) {
    globalThis.parent?.postMessage("x", "*");
    ctx.ui.card("Speaking");
    self.postMessage({ failed: 1, message: "speaking accuses honest", line: 1, column: 1 });
  },
};
