// A page without a browser: it does what lines of its standard input ask for, and prints
// what happens as lines of JSON.

import { createInterface } from "node:readline";

import { createBridge } from "@plugin-bridge/client";

const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
let bridge;

function described(error) {
  const { name, message, code, prefix, sent, close, reason, retryAfter } = error;
  return { name, message, code, prefix, sent, close, reason, retryAfter };
}

const actions = {
  create(options) {
    bridge = createBridge({ client: "test/1.0.0", WebSocket, ...options });
    bridge.on("state", (state, details) => print({ state, details }));
    for (const event of ["build", "plugins", "progress", "unknown"]) {
      bridge.on(event, (data) => print({ event, data }));
    }
  },
  call: ({ method, params }) => bridge.call(method, params),
  operate({ n, method, params }) {
    const onProgress = (progress) => print({ n, progress });
    return bridge.operate(method, params, { onProgress });
  },
  pair: ({ token }) => bridge.pair(token),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { n, action, ...given } = JSON.parse(line);
  (async () => actions[action]({ n, ...given }))().then(
    (result) => print({ n, result: result ?? null }),
    (error) => print({ n, error: described(error) }),
  );
}
