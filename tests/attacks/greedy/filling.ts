/** Fills the memory that all plugins share when it starts. */
export default {
  id: "filling",
  activate() {
    const kept = [];
    for (;;) {
      kept.push(new Array(100_000).fill(kept.length));
    }
  },
};
