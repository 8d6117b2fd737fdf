import type { BridgeState, Connection } from "./connection.js";
import { button, element, form, say } from "./dom.js";
import { type Preferences, readEndpoint } from "./preferences.js";

const STATES: { readonly [State in BridgeState]: string } = {
  "not-detected": "Not detected",
  connecting: "Running, connecting",
  "not-paired": "Running, not paired",
  connected: "Connected",
};

/** The bridge card: the state of the connection, and its controls. */
export class BridgeCard {
  readonly element: HTMLElement;
  readonly #connection: Connection;
  readonly #preferences: Preferences;

  readonly #state = element("span", { id: "bridge-state", role: "status" });
  readonly #explanation = element("p", { id: "bridge-explanation" });
  readonly #version = element("dd", { id: "bridge-version" });
  readonly #services = element("dd", { id: "bridge-services" });
  readonly #facts = element(
    "dl",
    { id: "bridge-facts", class: "facts" },
    element("div", {}, element("dt", {}, "Version"), this.#version),
    element("div", {}, element("dt", {}, "Services"), this.#services),
  );
  readonly #token = element("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: "",
  });
  readonly #pairing = form(
    { id: "pair-form", class: "field" },
    () => this.#pair(),
    element("label", { for: "token" }, "Pairing token"),
    element(
      "div",
      { class: "row" },
      this.#token,
      element("button", { id: "pair", type: "submit", class: "primary" }, "Pair"),
    ),
  );
  readonly #endpoint = element("input", {
    id: "endpoint",
    type: "text",
    inputmode: "url",
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": "endpoint-error",
  });
  readonly #endpointError = element("p", {
    id: "endpoint-error",
    class: "error",
    role: "alert",
    hidden: "",
  });

  constructor(connection: Connection, preferences: Preferences) {
    this.#connection = connection;
    this.#preferences = preferences;
    this.element = element(
      "section",
      { id: "bridge-card", class: "panel", "aria-labelledby": "bridge-title" },
      element(
        "header",
        {},
        element("h2", { id: "bridge-title" }, "Bridge"),
        element("span", { class: "pill" }, this.#state),
      ),
      this.#explanation,
      this.#facts,
      this.#pairing,
      form(
        { id: "endpoint-form", class: "field" },
        () => this.#moveTo(),
        element("label", { for: "endpoint" }, "Endpoint"),
        element(
          "div",
          { class: "row" },
          this.#endpoint,
          element("button", { id: "endpoint-save", type: "submit" }, "Use"),
        ),
        this.#endpointError,
      ),
      button("Re-check", { id: "recheck", class: "quiet" }, () => connection.check()),
    );
    this.#endpoint.value = connection.endpoint;
    connection.changed.listen(() => this.#show());
    this.#show();
  }

  #show(): void {
    const { state, welcome } = this.#connection;
    this.element.dataset["state"] = state;
    say(this.#state, STATES[state]);
    say(this.#explanation, this.#explain(state));
    this.#facts.hidden = welcome === undefined;
    this.#version.textContent = welcome?.version ?? "";
    this.#services.replaceChildren(
      ...(welcome?.services ?? []).map((name) => element("code", {}, name)),
    );
    this.#pairing.hidden = state === "connected";
  }

  #explain(state: BridgeState): string {
    const { endpoint, refusal } = this.#connection;
    switch (state) {
      case "not-detected":
        return `Nothing answers at ${endpoint}. Start the daemon, or correct the endpoint.`;
      case "connecting":
        return `The daemon answers at ${endpoint}; opening the socket.`;
      case "not-paired":
        return refusal === "unauthorized"
          ? "The daemon refused this pairing token. Run it with --print-token to print the right one."
          : "Paste the daemon's pairing token; running it with --print-token prints it.";
      case "connected":
        return `Paired with the daemon at ${endpoint}.`;
    }
  }

  #pair(): void {
    const token = this.#token.value.trim();
    if (token !== "") {
      this.#preferences.token = token;
      this.#token.value = "";
      this.#connection.useToken(token);
    }
  }

  #moveTo(): void {
    const endpoint = readEndpoint(this.#endpoint.value);
    say(
      this.#endpointError,
      endpoint === undefined
        ? "Enter http://127.0.0.1 or http://localhost, followed by a colon and a port."
        : "",
    );
    this.#endpoint.setAttribute("aria-invalid", String(endpoint === undefined));
    if (endpoint !== undefined) {
      this.#endpoint.value = endpoint;
      this.#preferences.endpoint = endpoint;
      this.#connection.useEndpoint(endpoint);
    }
  }
}
