/** Has a regular expression that no browser parses. */
const broken = /(/;

export default { id: "unparsable", activate: () => broken };
