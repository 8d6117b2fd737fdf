/** Overflows its stack while it is loaded. */
const depth = (): number => depth() + 1;

export default { id: "many-arguments", activate() {}, depth: depth() };
