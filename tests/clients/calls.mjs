// A page without a browser: it pairs, calls and installs, and prints what came of it.

import { createBridge } from "@plugin-bridge/client";

const [endpoint, token, url] = process.argv.slice(2);
const bridge = createBridge({ client: "test/1.0.0", endpoint, WebSocket });
const connected = [];
bridge.on("state", (state) => state === "connected" && connected.push(state));

const failed = (promise) =>
  promise.then(
    () => "it succeeded",
    ({ name, reason, code, prefix }) => [name, reason ?? code, prefix ?? null],
  );
const place = { ns: "host", key: "set" };

/** The first step is answered by pairing again, which loses the socket. */
function onProgress({ step }) {
  if (step === "awaiting_confirmation" && connected.length === 1) {
    void bridge.pair(token);
  }
}

const seen = {
  unpaired: await failed(bridge.call("state/get", place)),
  wrong: await failed(bridge.pair("W".repeat(43))),
  version: (await bridge.pair(` ${token}\n`)).version,
  set: await bridge.call("state/set", { ...place, value: { b: ["ü", 1.5, null] } }),
  got: await bridge.call("state/get", place),
  bad: await failed(bridge.call("state/get", { ...place, ns: "" })),
  missing: await failed(bridge.call("plugins/update", { id: "bio" })),
  unknown: await failed(bridge.call("state/none", {})),
  installed: (await bridge.operate("plugins/install", { url }, { onProgress })).plugin.id,
  connected: connected.length,
};
bridge.close();
console.log(JSON.stringify(seen));
