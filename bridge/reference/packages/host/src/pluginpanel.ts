import type { Catalogue } from "./catalogue.js";
import type { Connection } from "./connection.js";
import { button, element, form, say } from "./dom.js";
import type { Operations } from "./operations.js";
import { type Row, rows } from "./rows.js";
import type { Plugins } from "./plugins.js";
import type { Progress, Update } from "./wire.js";
import { inPlainWords, stepName } from "./wording.js";

interface Parts {
  readonly connection: Connection;
  readonly catalogue: Catalogue;
  readonly operations: Operations;
  readonly plugins: Plugins;
}

/** The panel that lists, installs, updates and removes plugins. */
export class PluginPanel {
  readonly element: HTMLElement;
  readonly #parts: Parts;
  #drawn = "";

  readonly #url = element("input", {
    id: "install-url",
    type: "text",
    inputmode: "url",
    placeholder: "https://",
    autocomplete: "off",
    spellcheck: "false",
    required: "",
  });
  readonly #install = element(
    "button",
    { id: "install", type: "submit", class: "primary" },
    "Install",
  );
  readonly #title = element("strong", { id: "operation-title" });
  readonly #steps = element("ol", { id: "operation-steps" });
  readonly #operation = element(
    "div",
    { id: "operation", class: "operation", role: "status", hidden: "" },
    this.#title,
    this.#steps,
  );
  readonly #refusal = element("p", {
    id: "install-error",
    class: "error",
    role: "alert",
    hidden: "",
  });
  readonly #list = element("ul", { id: "plugin-list", class: "plugins" });
  readonly #empty = element("p", { id: "plugin-list-empty", class: "empty" });
  readonly #check = button("Check for updates", { id: "check-updates", class: "quiet" }, () =>
    void this.#checkUpdates(),
  );
  readonly #checked = element("span", { id: "updates-status", role: "status", hidden: "" });

  /** @param notice Shown below the running operation. */
  constructor(parts: Parts, notice: HTMLElement) {
    this.#parts = parts;
    this.element = element(
      "section",
      { id: "plugins-panel", class: "panel", "aria-labelledby": "plugins-title" },
      element("header", {}, element("h2", { id: "plugins-title" }, "Plugins")),
      form(
        { id: "install-form", class: "field" },
        () => void this.#installUrl(),
        element("label", { for: "install-url" }, "Install from a repository"),
        element("div", { class: "row" }, this.#url, this.#install),
      ),
      this.#operation,
      this.#refusal,
      notice,
      this.#list,
      this.#empty,
      element("div", { class: "row end" }, this.#checked, this.#check),
    );
    for (const { changed } of Object.values(parts)) {
      changed.listen(() => this.#show());
    }
    this.#show();
  }

  #show(): void {
    const { connection, catalogue, operations, plugins } = this.#parts;
    const ready = connection.state === "connected" && operations.running === "";
    this.#install.disabled = !ready;
    this.#check.disabled = !ready;
    this.#showOperation();
    say(this.#refusal, operations.refusal);
    const shown = rows(catalogue.installed, plugins.all);
    say(this.#empty, shown.length > 0 ? "" : this.#nothing());
    // Replaced only when it differs: the focus and unfolded details would be lost.
    const drawn = JSON.stringify([ready, shown, shown.map(({ id }) => catalogue.update(id))]);
    if (drawn !== this.#drawn) {
      this.#drawn = drawn;
      this.#list.replaceChildren(...shown.map((row) => this.#row(row, ready)));
      this.#list.hidden = shown.length === 0;
    }
  }

  #nothing(): string {
    return this.#parts.connection.state === "connected"
      ? "No plugin is installed yet."
      : "Connect the page to see the installed plugins.";
  }

  #showOperation(): void {
    const { running, steps } = this.#parts.operations;
    this.#operation.hidden = running === "" && steps.length === 0;
    this.#title.textContent = running || "Another page is changing the plugins";
    this.#steps.replaceChildren(...steps.map((step, at) => line(step, at === steps.length - 1)));
  }

  #row(row: Row, ready: boolean): HTMLLIElement {
    const { id } = row;
    const update = this.#parts.catalogue.update(id);
    const act = (label: string, name: string, pressed: () => void): HTMLButtonElement => {
      const made = button(
        label,
        { "data-testid": `${name}-${id}`, "aria-label": `${label}: ${row.name}` },
        pressed,
      );
      made.disabled = !ready;
      return made;
    };
    return element(
      "li",
      { "data-testid": `plugin-${id}`, "data-status": row.status },
      element(
        "div",
        { class: "what" },
        element(
          "p",
          {},
          element("strong", { "data-testid": `plugin-name-${id}` }, row.name),
          " ",
          element("span", { "data-testid": `plugin-version-${id}`, class: "dim" }, row.version),
          " ",
          element("code", { class: "dim" }, id),
        ),
        ...(row.description === "" ? [] : [element("p", { class: "dim" }, row.description)]),
        element("p", { "data-testid": `plugin-status-${id}`, class: "status" }, row.words),
        ...(update === undefined ? [] : [changes(update)]),
      ),
      element(
        "div",
        { class: "acts" },
        ...(update === undefined ? [] : [act("Update", "update", () => void this.#update(row))]),
        ...(row.installed ? [act("Uninstall", "uninstall", () => void this.#uninstall(row))] : []),
      ),
    );
  }

  async #installUrl(): Promise<void> {
    const { operations, catalogue } = this.#parts;
    const url = this.#url.value.trim();
    if (url !== "" && (await operations.run("Installing a plugin", "install", { url }))) {
      this.#url.value = "";
      await catalogue.refresh();
    }
  }

  async #update({ id, name }: Row): Promise<void> {
    const { operations, catalogue } = this.#parts;
    if (await operations.run(`Updating ${name}`, "update", { id })) {
      catalogue.settled(id);
      await catalogue.refresh();
    }
  }

  async #uninstall({ id, name }: Row): Promise<void> {
    const { operations, catalogue, connection } = this.#parts;
    if (await operations.run(`Uninstalling ${name}`, "uninstall", { id })) {
      catalogue.settled(id);
      // The daemon forgets the plugin's settings; what it was allowed is the page's.
      const grants = { ns: "host", key: `grants:${id}` };
      await connection.call("state", "delete", grants).catch(() => undefined);
      await catalogue.refresh();
    }
  }

  async #checkUpdates(): Promise<void> {
    say(this.#checked, "Looking…");
    try {
      const found = await this.#parts.catalogue.checkUpdates();
      const many = found === 1 ? "1 update found." : `${found} updates found.`;
      say(this.#checked, found === 0 ? "Everything is up to date." : many);
    } catch (e) {
      say(this.#checked, inPlainWords(e));
    }
  }
}

function line({ step, message }: Progress, current: boolean): HTMLLIElement {
  const made = element(
    "li",
    { "data-step": step },
    element("span", { class: "step" }, stepName(step)),
    ...(message === "" ? [] : [element("span", { class: "dim" }, message)]),
  );
  if (current) {
    made.setAttribute("aria-current", "step");
  }
  return made;
}

function changes({ id, commitsBehind, changelog }: Update): HTMLDetailsElement {
  const many = commitsBehind >= 50 ? "50 or more changes" : `${commitsBehind} changes`;
  return element(
    "details",
    { "data-testid": `changes-${id}` },
    element("summary", {}, commitsBehind === 1 ? "1 change" : many),
    element("ul", {}, ...changelog.map((change) => element("li", {}, change))),
  );
}
