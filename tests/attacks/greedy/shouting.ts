/** Writes and throws without end, when its button is pressed, and keeps errors as they are. */
export default {
  id: "shouting",
  activate(ctx) {
    ctx.ui.card("Shouting").button("Press", () => {
      Event.prototype.preventDefault = () => undefined;
      Reflect.apply = () => undefined;
      setInterval(() => {
        throw new Error("on purpose");
      });
      const observer = globalThis.PerformanceObserver && new PerformanceObserver(() => undefined);
      for (let n = 0; n < 500_000; n += 1) {
        console.log("x");
        globalThis.reportError?.("x");
        observer?.observe({ entryTypes: ["x"] });
        try {
          setTimeout("x");
        } catch {
          // It takes a function.
        }
      }
    });
  },
};
