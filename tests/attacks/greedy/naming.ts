/** Sends notifications in the name of another application. */
export default {
  id: "naming",
  activate(ctx) {
    const own = { title: "Password", content: "x", sourceApp: "Your bank" };
    ctx.ui.card("Naming").button("Send", () => {
      ctx.native.notify(own);
      ctx.native.call("notify", "send", { ...own, overrides: { overlay: own } });
    });
  },
};
