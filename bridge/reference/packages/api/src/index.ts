/**
 * What a plugin imports: `definePlugin`, the context it is given, and the errors it
 * may meet.  Nothing here does anything by itself; the host fills the context in.
 */

export { BridgeError, PermissionError } from "./errors.js";
export type {
  Context,
  Json,
  Logger,
  Plugin,
  Settings,
} from "./context.js";
export type {
  Health,
  Native,
  Notification,
  NotificationFields,
  NotificationResult,
  Target,
  Urgency,
} from "./native.js";
export type { Card, Ui } from "./ui.js";
export { API_VERSION } from "./version.js";

import type { Plugin } from "./context.js";

/** Declare a plugin; what `main.ts` exports by default. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
