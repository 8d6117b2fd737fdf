/** Overflows its stack in `ctx.ui.card`, for cards that are not counted. */
export default {
  id: "deep",
  activate(ctx) {
    const dive = () => {
      try {
        ctx.ui.card("Deep");
        dive();
      } catch {
        // Once more, on less stack.
        ctx.ui.card("Deeper");
      }
    };
    for (let n = 0; n < 50; n += 1) {
      try {
        dive();
      } catch {
        // Its cards count.
      }
    }
  },
};
