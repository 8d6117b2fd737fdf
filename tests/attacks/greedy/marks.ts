/** Draws over the page with combining marks. */
export default {
  id: "marks",
  activate(ctx) {
    const marks = "\u0316\u0317\u0300\u0301".repeat(45);
    ctx.ui.card(`M${marks}`).text(`a${marks} b${marks}`.repeat(20));
  },
};
