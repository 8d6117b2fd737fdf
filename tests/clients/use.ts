/** Uses what the package exports; the test adds what the protocol does not have. */

import {
  type Bridge, CLOSES, type ErrorCode, type Events, LIMITS, METHODS, type MethodName,
  PREFIXES, PROTOCOL_VERSION, type Params, type Prefix, RefusedError, type Result,
  createBridge,
} from "@plugin-bridge/client";

const options = { endpoint: "http://127.0.0.1:42081", client: "my-page/1.0.0" };
export const bridge: Bridge = createBridge({ ...options, token: "TOKEN" });
export const value: Promise<{ value?: unknown }> = bridge.call("state/get", {
  ns: "host",
  key: "a",
});
void bridge.call("plugins/list");
void bridge.call("plugins/list", {}, { signal: AbortSignal.timeout(1), timeoutMs: 5 });
bridge.on("build", ({ ok }) => console.log(ok));
bridge.on("state", (state, { reason }) => console.log(state, reason, LIMITS));
void bridge
  .operate(
    "plugins/update",
    { id: "a" },
    { onProgress: ({ step }) => console.log(step) },
  )
  .catch((error: unknown) => error instanceof RefusedError && error.prefix);
const listed: Result<"plugins/list"> = { plugins: [], broken: [] };
export const reason: string | undefined = listed.broken[0]?.reason;
export const sent: Params<"osc/send"> = {
  address: "/a", args: [1, "b", true, { kind: "int", value: 1 }],
};
export const progress: Events["progress"] = {
  op: "install", id: null, step: "a later step", message: "", operation: "1",
  ref: null, cancellable: true,
};
export const code: ErrorCode = "rate_limited";
export const prefix: Prefix = PREFIXES[0];
export const name: MethodName = "plugins/check_updates";
export const retry: "yes" = CLOSES.shutdown, time: number = METHODS[name].timeoutMs;
export const version: string = PROTOCOL_VERSION;
