// What only the page's own code has, since it runs before anything is frozen.
const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];

/** What makes functions of text. */
export const makers = [
  ...kinds.map((kind) => Object.getPrototypeOf(kind).constructor),
  globalThis.eval,
];
