/** A client for plugin-bridge, the daemon that does for a page what a page cannot. */

export {
  type Bridge,
  type BridgeOptions,
  type Off,
  type OperationName,
  createBridge,
} from "./bridge.js";
export type { CallOptions } from "./calls.js";
export type { Cancel, Clock } from "./clock.js";
export type { State, StateDetails } from "./connection.js";
export {
  BridgeError,
  type Close,
  LostError,
  PairingError,
  type PairingReason,
  RefusedError,
  TimeoutError,
} from "./errors.js";
export type { Level } from "./log.js";
export type { OperateOptions, Progress } from "./operations.js";
export type { Page } from "./page.js";
export * from "./protocol.js";
export type { Evaluate } from "./remote.js";
export type { WebSocketConstructor, WebSocketLike, Welcome } from "./socket.js";
