/** Ends in a loop while it starts. */
export default {
  id: "hanging",
  activate() {
    for (;;) {}
  },
};
