/** Ends in a loop while it is loaded. */
for (;;) {}

export default { id: "stuck", activate() {} };
