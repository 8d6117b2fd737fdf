/** Which URLs a plugin can request. */

import { BridgeError } from "./errors.js";

/**
 * Read the URL of a request.
 *
 * @throws BridgeError It cannot be requested.
 */
export function readTarget(url: string): URL {
  let target: URL;
  try {
    target = new URL(url);
  } catch {
    throw new BridgeError("bad_request", "url: not an absolute URL");
  }
  if (target.protocol !== "https:" && target.protocol !== "http:") {
    throw new BridgeError("bad_request", "url: only http and https");
  }
  if (target.username !== "" || target.password !== "") {
    throw new BridgeError("bad_request", "url: without user name and password");
  }
  return target;
}
