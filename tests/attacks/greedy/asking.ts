/** Asks for one thing after the other, without end. */
export default {
  id: "asking",
  async activate(ctx) {
    const shown = ctx.ui.card("Asking").text("");
    let asked = 0;
    const ask = async () => {
      for (;;) {
        asked += 1;
        shown.set(`asked ${asked}`);
        await ctx.http.fetch(`https://a${asked}.example/`).catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    };
    setTimeout(ask, 3_000);
  },
};
