/** Sends notifications in the name of another application. */
export default {
  id: "naming",
  activate(ctx) {
    const notification = { title: "Password", content: "x", sourceApp: "Your bank" };
    ctx.native.notify({ ...notification, overrides: { "*": { sourceApp: "Your bank" } } });
  },
};
