// A page without a browser: it does what lines of its standard input ask for, and prints
// what happens as lines of JSON.

import { createInterface } from "node:readline";

import { createBridge } from "@plugin-bridge/client";

const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor;
const aborts = new Map();
let bridge;

function described(error) {
  const { name, message, code, prefix, sent, close, reason, retryAfter } = error;
  return { name, message, code, prefix, sent, close, reason, retryAfter };
}

/** A socket whose first frame, the hello, goes out late. */
function withLateHello(milliseconds) {
  return class extends WebSocket {
    send(text) {
      setTimeout(() => this.readyState === WebSocket.OPEN && super.send(text), milliseconds);
    }
  };
}

const actions = {
  create({ lateHello, ...options }) {
    const made = lateHello === undefined ? WebSocket : withLateHello(lateHello);
    bridge = createBridge({ client: "test/1.0.0", WebSocket: made, ...options });
    bridge.on("state", (state, details) => print({ state, details }));
    for (const event of ["build", "plugins", "progress", "unknown"]) {
      bridge.on(event, (data) => print({ event, data }));
    }
  },
  call: ({ n, method, params, timeoutMs }) =>
    bridge.call(method, params, { signal: aborts.get(n)?.signal, timeoutMs }),
  operate({ n, method, params }) {
    const onProgress = (progress) => print({ n, progress });
    return bridge.operate(method, params, { signal: aborts.get(n)?.signal, onProgress });
  },
  abort: ({ of }) => aborts.get(of).abort(),
  pair: ({ token }) => bridge.pair(token),
  log: ({ lines }) => lines.forEach((line) => bridge.log("info", "driver", line)),
  evaluate: () => void bridge.onRemote((code) => new AsyncFunction(code)()),
  retry: () => bridge.retry(),
  close: () => bridge.close(),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { n, action, ...given } = JSON.parse(line);
  aborts.set(n, new AbortController());
  (async () => actions[action]({ n, ...given }))().then(
    (result) => print({ n, result: result ?? null }),
    (error) => print({ n, error: described(error) }),
  );
}
