/**
 * What a plugin imports: `definePlugin`, the types of the context that `activate`
 * receives, and the errors it may meet. The host provides the context.
 */

export { BridgeError, PermissionError } from "./errors.js";
export type { Context, Json, Logger, Plugin } from "./context.js";
export type { Http, HttpOptions, HttpResponse } from "./http.js";
export type {
  Health,
  Native,
  Notification,
  NotificationFields,
  NotificationResult,
  Target,
  Urgency,
} from "./native.js";
export type { Osc, OscArgument, OscMessage, OscValue } from "./osc.js";
export type {
  BooleanField,
  ChoiceField,
  Field,
  NumberField,
  SettingField,
  Settings,
  SettingsSchema,
  TextField,
} from "./settings.js";
export type { Database, Sql, SqlResult, SqlValue } from "./sql.js";
export type {
  ButtonHandle,
  Card,
  Cell,
  Handle,
  ImageHandle,
  InputChange,
  InputHandle,
  InputOptions,
  NumberChange,
  NumberHandle,
  NumberOptions,
  ProgressHandle,
  TableHandle,
  TextHandle,
  TextOptions,
  Ui,
} from "./ui.js";
export { API_VERSION } from "./version.js";

import type { Plugin } from "./context.js";

/** Declare a plugin; what `main.ts` exports by default. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
