/** A refusal by the daemon, or a failure to reach it. */
export class BridgeError extends Error {
  /**
   * The daemon's code, such as `bad_request`, or one of the host's own: `disconnected` (no
   * connection, or no more), `timeout` (no answer in time) and `too_large`.
   */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "BridgeError";
    this.code = code;
  }
}

/** The plugin lacks a permission, or the user declined; nothing was sent. */
export class PermissionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "PermissionError";
  }
}
