import type { Json } from "./context.js";

/**
 * HTTP requests, made by the daemon; needs the permission `network`.
 *
 * The user is asked the first time for each host, whether the manifest's `hosts`
 * declare it or not; the question points out a host that they do not declare.
 */
export interface Http {
  /**
   * Make one request to a public address, never to this computer or its network; the
   * cross-origin rules of browsers do not apply, and a redirect is returned as it is.
   * Beyond four at once, requests wait. None can be aborted, but for `timeoutMs`.
   *
   * Rejects with `PermissionError` before anything is sent, and with `BridgeError`
   * when there is no response. A response of any status resolves.
   *
   * @param url An absolute URL of http or https, without user name and password.
   */
  fetch(url: string, options?: HttpOptions): Promise<HttpResponse>;
}

/** What a request has besides its URL. */
export interface HttpOptions {
  /** `GET` when absent. */
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** At most 32; those of the connection, such as `host`, are refused. */
  readonly headers?: { readonly [name: string]: string };
  /** Text of at most 1 MiB. */
  readonly body?: string;
  /** Milliseconds for the whole exchange: 30000 when absent, at most 120000. */
  readonly timeoutMs?: number;
}

/** A response. */
export interface HttpResponse {
  readonly status: number;
  readonly statusText: string;
  /** Whether the status is 200 to 299. */
  readonly ok: boolean;
  readonly url: string;
  /**
   * Values by name in lower case; repeated ones are joined by a comma and a space.
   * `set-cookie` and what is about the transfer, such as `content-length`, are left out.
   */
  readonly headers: { readonly [name: string]: string };
  /** The body as text; a body that is not UTF-8 rejects the request. */
  readonly body: string;
  /** Parse the body; throws `SyntaxError` when it is not JSON. */
  json(): Json;
}
