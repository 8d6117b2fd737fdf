import type { Json } from "./context.js";

/**
 * The daemon's `notify` service; needs the permission `native`.
 *
 * The user is asked the first time a plugin uses each method.  Everything here
 * rejects with `PermissionError`, and sends nothing, when that is missing.
 */
export interface Native {
  /** The destinations a notification can have. */
  targets(): Promise<readonly Target[]>;

  /**
   * Show a notification.
   *
   * An overlay or a daemon that is not running is reported in `failed`, and never
   * rejects the promise.
   */
  notify(notification: Notification): Promise<NotificationResult>;

  /**
   * Call a method of the service `notify`; any other service is refused.
   *
   * Rejects with `BridgeError` when the daemon refuses, the socket closes, or no
   * answer comes in time.
   */
  call(
    service: string,
    method: string,
    params?: { readonly [name: string]: Json },
  ): Promise<unknown>;
}

/** The state of a destination. */
export type Health = "up" | "unknown" | "down";

/** A destination of notifications. */
export interface Target {
  readonly name: string;
  readonly description: string;
  readonly health: Health;
  /** The fields of a notification it makes use of. */
  readonly honours: readonly string[];
}

/** How important a notification is. */
export type Urgency = "low" | "normal" | "critical";

/** The settings of one destination. */
export interface NotificationFields {
  /** At most 2000 characters. */
  readonly content?: string;
  /** The name of an icon or, with `useBase64Icon`, an image; at most 128 KB. */
  readonly icon?: string;
  readonly useBase64Icon?: boolean;
  /** 0 to 60; 0 means the destination's own. */
  readonly timeoutSecs?: number;
  /** 0 to 1. */
  readonly volume?: number;
  /** 0 to 1. */
  readonly opacity?: number;
  /** 16 to 1024. */
  readonly height?: number;
  /** Ignored: the page names the plugin. */
  readonly sourceApp?: string;
  readonly sound?: boolean;
  readonly audioPath?: string;
  readonly urgency?: Urgency;
  readonly alwaysShow?: boolean;
}

/** A notification for one, several or all destinations. */
export interface Notification extends NotificationFields {
  /** 1 to 200 characters, no control characters. */
  readonly title: string;
  /** The destinations' names; absent means all. */
  readonly sinks?: readonly string[];
  /** Other fields for one destination, by its name. */
  readonly overrides?: {
    readonly [sink: string]: NotificationFields & { readonly title?: string };
  };
}

/** The result of a notification. */
export interface NotificationResult {
  /** Whether at least one destination accepted it. */
  readonly ok: boolean;
  readonly delivered: readonly string[];
  /** A notification that breaks a rule fails in the sink `bridge`, and reaches none. */
  readonly failed: readonly { readonly sink: string; readonly error: string }[];
}
