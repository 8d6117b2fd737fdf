/** @jsx h */
import { h } from "preact";
import { useState } from "preact/hooks";

import { fragmentOf, pluginRoute } from "../model/navigation.js";
import { type Row, matching, versionAndWords } from "../model/rows.js";
import { WAITING_WORDS } from "../model/words.js";
import type { ViewProps } from "./app.js";
import {
  Actions,
  AskAgain,
  Button,
  ButtonLink,
  Field,
  Select,
  StartStopped,
  Switch,
  Title,
  focusOn,
} from "./parts.js";

const FEW = 6;

/** Every plugin, with its switch. */
export function PluginListView({ model, selected }: ViewProps & { readonly selected: string }) {
  const [search, setSearch] = useState("");
  const [tag, setTag] = useState("");
  const { rows } = model;
  const many = rows.length > FEW;
  const found = many ? matching(rows, search, tag) : rows;
  return (
    <section class="list stack" id="plugins">
      <div class="row heading">
        <Title>Plugins</Title>
        <ButtonLink id="add" kind="primary" href={fragmentOf({ view: "add" })}>
          Add a plugin
        </ButtonLink>
      </div>
      {rows.length === 0 ? null : <UpdateLine model={model} />}
      {many ? (
        <Filter rows={rows} search={search} tag={tag} onSearch={setSearch} onTag={setTag} />
      ) : null}
      <ul class="plugins" id="plugin-list">
        {found.map((row) => (
          <PluginRow key={row.id} model={model} row={row} selected={row.id === selected} />
        ))}
      </ul>
      {found.length > 0 ? null : (
        <div class="stack">
          <p class="empty" id="plugin-list-empty">
            {rows.length === 0 ? emptyWords(model) : `Nothing matches “${search || tag}”.`}
          </p>
          {rows.length === 0 ? null : (
            <Actions>
              <Button
                onPress={() => {
                  setSearch("");
                  setTag("");
                  focusOn("search");
                }}
              >
                Clear
              </Button>
            </Actions>
          )}
        </div>
      )}
    </section>
  );
}

function emptyWords({ catalog, link }: ViewProps["model"]): string {
  return catalog.entries === undefined && link.state !== "connected"
    ? WAITING_WORDS
    : "No plugins yet.";
}

function UpdateLine({ model }: ViewProps) {
  const { catalog } = model;
  const { updates } = catalog;
  const off = catalog.checking || !model.isConnected;
  return (
    <div class="row updates">
      {model.updateWords === "" ? null : (
        <p id="updates-status" class={updates.length > 0 ? "strong" : "dim"}>
          {model.updateWords}
        </p>
      )}
      {updates.length > 1 ? (
        <Button
          id="update-all"
          kind="primary"
          off={!model.mayOperate}
          onPress={() => void model.updateAll()}
        >
          Update all
        </Button>
      ) : null}
      <Button id="check-updates" kind="quiet" off={off} onPress={() => void check(model)}>
        Check for updates
      </Button>
    </div>
  );
}

async function check(model: ViewProps["model"]): Promise<void> {
  await model.catalog.check();
  model.announcer.polite(model.updateWords);
}

function Filter(props: {
  readonly rows: readonly Row[];
  readonly search: string;
  readonly tag: string;
  readonly onSearch: (words: string) => void;
  readonly onTag: (tag: string) => void;
}) {
  const found = props.rows.flatMap(({ entry }) => entry?.tags ?? []);
  const tags = [...new Set(["", props.tag, ...found])].sort();
  return (
    <div class="row filter">
      <Field id="search" type="search" label="Search" value={props.search} onValue={props.onSearch} />
      {tags.length === 1 ? null : (
        <Select
          id="tag"
          label="Tag"
          value={props.tag}
          options={tags.map((value) => ({ value, label: value || "All tags" }))}
          onValue={props.onTag}
        />
      )}
    </div>
  );
}

function PluginRow(props: ViewProps & { readonly row: Row; readonly selected: boolean }) {
  const { model, row, selected } = props;
  const { id, name } = row;
  const [version, words] = versionAndWords(row);
  const update = model.catalog.update(id);
  const href = fragmentOf(pluginRoute(id));
  return (
    <li data-testid={`plugin-${id}`} data-status={row.status}>
      <div class="what">
        <a href={href} aria-current={selected ? "true" : undefined} data-row={id}>
          <span dir="auto" data-testid={`plugin-name-${id}`}>
            {name}
          </span>
        </a>
        <p class="status" data-testid={`plugin-status-${id}`}>
          <span class="dim" data-testid={`plugin-version-${id}`}>
            {version}
          </span>{" "}
          {words}
        </p>
        {update === undefined ? null : <p class="strong small">There is an update.</p>}
        <AskAgain model={model} row={row} />
        <StartStopped model={model} row={row} id={`start-${id}`} />
      </div>
      <PluginSwitch model={model} row={row} id={`switch-${id}`} />
    </li>
  );
}

/** The switch of a plugin; none for what is not installed any more. */
export function PluginSwitch({ model, row, id }: ViewProps & { readonly row: Row; readonly id: string }) {
  if (row.status === "removed") {
    return null;
  }
  return (
    <Switch
      id={id}
      label={row.name}
      on={row.enabled}
      off={!model.isConnected}
      onChange={(on) => void model.setEnabled(row.id, on)}
    />
  );
}
