/** The endpoint and the token, kept in this browser. */

const ENDPOINT_KEY = "plugin-bridge.endpoint";
const TOKEN_KEY = "plugin-bridge.token";
const DEFAULT_ENDPOINT = "http://127.0.0.1:42081";

/**
 * The endpoint somebody wrote, in its usual form; `undefined` when it is none.
 *
 * It must be this computer: the token is sent there.
 */
export function readEndpoint(written: string): string | undefined {
  const shape = /^http:\/\/(127\.0\.0\.1|localhost)(:(\d{1,5}))?\/*$/i.exec(written.trim());
  const port = Number(shape?.[3] ?? 80);
  return shape === null || port < 1 || port > 65535
    ? undefined
    : `http://${String(shape[1]).toLowerCase()}:${port}`;
}

/** Whether a fragment such as `#endpoint=…&token=…` names what the page connects to. */
export function namesDaemon(fragment: string): boolean {
  return /[#&](endpoint|token)=/.test(fragment);
}

/** Another daemon that a link leads to, with its token if it names one. */
export interface Destination {
  readonly endpoint: string;
  readonly token: string;
}

/** Reads and writes the two; lives in memory when the browser keeps nothing. */
export class Preferences {
  /** A token that a link brought, until the daemon accepts or refuses it; empty for none. */
  offered = "";
  /** Where a link wants to move a page that is paired; the user decides. */
  destination: Destination | undefined;
  #linked = "";
  readonly #storage: Store;

  constructor(storage: Store) {
    this.#storage = storage;
  }

  get endpoint(): string {
    return readEndpoint(this.#storage.getItem(ENDPOINT_KEY) ?? "") ?? DEFAULT_ENDPOINT;
  }

  /** Another one than before has to be paired again: it must not be shown the token. */
  set endpoint(endpoint: string) {
    if (endpoint !== this.endpoint) {
      this.#storage.removeItem(TOKEN_KEY);
    }
    this.#storage.setItem(ENDPOINT_KEY, endpoint);
  }

  get token(): string {
    return this.#storage.getItem(TOKEN_KEY) ?? "";
  }

  set token(token: string) {
    this.offered = "";
    this.#storage.setItem(TOKEN_KEY, token);
  }

  /**
   * Take over the endpoint and the token that a link names.
   *
   * A link may come from anywhere, so it neither unpairs a page nor moves it: both are kept
   * once the daemon there has accepted the token, and a paired page asks before it leaves,
   * unless the link knows the page's token: then the daemon has another port.
   */
  follow(fragment: string): void {
    const named = new URLSearchParams(fragment.slice(1));
    const given = named.get("token") ?? "";
    const token = /^[A-Za-z0-9_-]{16,128}$/.test(given) ? given : "";
    const endpoint = readEndpoint(named.get("endpoint") ?? "") ?? this.endpoint;
    if (endpoint !== this.endpoint && this.token !== "" && token !== this.token) {
      this.destination = { endpoint, token };
    } else {
      this.#linked = endpoint;
      this.offered = token;
    }
  }

  /** Move to where a link leads, as the user has decided. */
  move({ endpoint, token }: Destination): void {
    this.#linked = "";
    this.endpoint = endpoint;
    this.token = token;
  }

  /** The endpoint to connect to: one of a link is not kept yet. */
  get target(): string {
    return this.#linked || this.endpoint;
  }

  /** The token to connect with. */
  get first(): string {
    return this.offered || this.token;
  }

  /** Both, as a link names them to a page that is loaded again; empty where the browser keeps them. */
  get named(): string {
    return [ENDPOINT_KEY, TOKEN_KEY].some((key) => this.#storage.forgets(key))
      ? String(new URLSearchParams({ endpoint: this.endpoint, token: this.token }))
      : "";
  }

  /** Keep what a link brought when the daemon accepts it. */
  settle(link: { readonly state: string; readonly endpoint: string }): void {
    const { offered } = this;
    // Another tab may have paired the page since, with the daemon at another address.
    const isOwn = link.endpoint === this.endpoint;
    if (offered !== "" && link.state === "connected") {
      this.offered = "";
      if (isOwn || this.token === "" || this.token === offered) {
        this.move({ endpoint: link.endpoint, token: offered });
      }
    } else if (link.state === "unpaired") {
      this.offered = "";
    }
  }
}

interface Store extends Pick<Storage, "getItem" | "setItem" | "removeItem"> {
  /** Whether a value lasts only as long as the page. */
  forgets(key: string): boolean;
}

/** A browser's store; where it is closed or full, a value lasts as long as the page. */
export function openStorage(name: "localStorage" | "sessionStorage"): Store {
  const values = new Map<string, string>();
  const attempt = <Result>(use: (store: Storage) => Result): Result | undefined => {
    try {
      return use(window[name]);
    } catch {
      return undefined;
    }
  };
  return {
    forgets: (key) => values.has(key),
    getItem: (key) => values.get(key) ?? attempt((store) => store.getItem(key)) ?? null,
    setItem(key, value) {
      values.set(key, value);
      attempt((store) => {
        store.setItem(key, value);
        values.delete(key);
      });
    },
    removeItem(key) {
      values.delete(key);
      attempt((store) => store.removeItem(key));
    },
  };
}
