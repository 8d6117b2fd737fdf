import { definePlugin } from "@bridge/plugin-api";

const ROUND_MILLISECONDS = 50;
const WRITE_MILLISECONDS = 1_000;

/** Draws, keeps its count and uses a permission, and shows what of it has failed. */
export default definePlugin({
  id: "honest",
  activate(ctx) {
    const card = ctx.ui.card("Honest");
    const shown = card.text("");
    const count = { rounds: 0, written: ctx.settings.get("written", 0), failed: 0, slowest: 0 };
    card.button("Press", () => ctx.logger.info("the honest button was pressed"));
    // How late its own rounds are in all: that is the machine, and no other's greed.
    let late = 0;
    let last = performance.now();
    const clock = (): number => performance.now() - late;
    const attempt = async (work: Promise<unknown>): Promise<void> => {
      const begun = clock();
      await work.catch((e: unknown) => {
        count.failed += 1;
        ctx.logger.error(`the honest plugin lost something: ${String(e)}`);
      });
      count.slowest = Math.max(count.slowest, Math.round(clock() - begun));
    };
    setInterval(() => {
      const now = performance.now();
      late += Math.max(0, now - last - 2 * ROUND_MILLISECONDS);
      last = now;
      count.rounds += 1;
      shown.set(JSON.stringify(count));
    }, ROUND_MILLISECONDS);
    setInterval(() => {
      count.written += 1;
      void attempt(ctx.settings.set("written", count.written));
      void attempt(ctx.native.targets());
    }, WRITE_MILLISECONDS);
  },
});
