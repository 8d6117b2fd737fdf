/** Fills the memory that all plugins share three seconds after its start. */
export default {
  id: "filling-later",
  activate() {
    const kept = [];
    setTimeout(() => {
      for (;;) {
        kept.push(new Array(100_000).fill(kept.length));
      }
    }, 3_000);
  },
};
