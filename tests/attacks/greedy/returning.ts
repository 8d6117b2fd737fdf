/** Writes its settings without end, also while it is uninstalled. */
export default {
  id: "returning",
  activate(ctx) {
    let n = 0;
    ctx.ui.card("Returning");
    setInterval(() => {
      n += 1;
      ctx.settings.set(`key-${n % 8}`, n).catch(() => undefined);
    }, 20);
  },
};
