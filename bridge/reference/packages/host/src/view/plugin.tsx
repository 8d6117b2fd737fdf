/** @jsx h */
import { type ComponentChildren, Fragment, h } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { About, ListEntry } from "../../../client/src/index.js";
import { hostAndPath } from "../model/address.js";
import type { PageModel } from "../model/model.js";
import { type PluginPage, fragmentOf, pluginRoute } from "../model/navigation.js";
import { type Row, versionAndWords } from "../model/rows.js";
import { WAITING_WORDS, count, day } from "../model/words.js";
import type { ViewProps } from "./app.js";
import {
  Actions,
  AskAgain,
  Button,
  ButtonLink,
  By,
  Copy,
  Details,
  Outside,
  Reason,
  StartStopped,
  Title,
  nextTo,
} from "./parts.js";
import { PluginSwitch } from "./pluginlist.js";

interface PluginProps extends ViewProps {
  readonly id: string;
}

/** One plugin: what it is, and what can be done with it. */
export function PluginView({ model, id }: PluginProps) {
  const row = model.row(id);
  const about = useAbout(model, row?.entry);
  if (row === undefined) {
    return <Missing model={model} />;
  }
  return (
    <section class="stack" id="plugin">
      <Back />
      <div class="row heading">
        <Icon about={about} />
        <Title dir="auto">{row.name}</Title>
        <PluginSwitch model={model} row={row} id="plugin-switch" />
      </div>
      <Standing row={row} />
      <AskAgain model={model} row={row} />
      <StartStopped model={model} row={row} id="plugin-start" />
      <Acts model={model} row={row} />
      <Readme about={about} />
      {row.entry === undefined ? null : <Origin model={model} entry={row.entry} />}
    </section>
  );
}

/** What an installed plugin shows of itself; read again when it was changed. */
function useAbout({ link, catalog }: PageModel, entry: ListEntry | undefined): About | undefined {
  const [about, setAbout] = useState<About | undefined>(undefined);
  const { id = "", commit = "", updatedAt = "" } = entry ?? {};
  const canAsk = id !== "" && link.state === "connected";
  useEffect(() => {
    let isWanted = canAsk;
    if (canAsk) {
      void catalog.about(id).then((found) => isWanted && setAbout(found));
    }
    return () => {
      isWanted = false;
    };
  }, [id, commit, updatedAt, canAsk]);
  return about;
}

/** A plugin's picture, next to its name. */
export function Icon({ about }: { readonly about: About | undefined }) {
  const { icon = "" } = about ?? {};
  return icon === "" ? null : <img class="icon" src={`data:image/png;base64,${icon}`} alt="" />;
}

/** A plugin's README, as text. */
export function Readme({ about }: { readonly about: About | undefined }) {
  const { readme = "" } = about ?? {};
  return readme === "" ? null : (
    <Details id="readme" summary="README">
      <pre dir="auto">{readme}</pre>
    </Details>
  );
}

/** To the list, where the list is not shown. */
export function Back({ href = fragmentOf({ view: "plugins" }), label = "Plugins" }) {
  return (
    <a class="back" href={href}>
      ‹ {label}
    </a>
  );
}

function Missing({ model }: ViewProps) {
  const waits = model.catalog.entries === undefined;
  return (
    <section class="stack">
      <Back />
      <Title>{waits ? "A plugin" : "Not here"}</Title>
      <p>{waits ? WAITING_WORDS : "This plugin isn't installed."}</p>
    </section>
  );
}

function Standing({ row }: { readonly row: Row }) {
  const { status, entry, details } = row;
  const author = entry?.author ?? "";
  return (
    <div class="stack tight">
      <p class="status" data-status={status} id="plugin-words">
        {versionAndWords(row).filter((word) => word !== "").join(" · ")}
        {author === "" ? null : " "}
        {author === "" ? null : <By author={author} />}
      </p>
      {entry?.dev === true ? <p>Being developed on this computer.</p> : null}
      {(entry?.description ?? "") === "" ? null : <p dir="auto">{entry?.description}</p>}
      <Reason>{details}</Reason>
    </div>
  );
}

function Acts({ model, row }: ViewProps & { readonly row: Row }) {
  const { id, entry } = row;
  const page = (name: PluginPage): string => fragmentOf(pluginRoute(id, name));
  const update = model.catalog.update(id);
  return (
    <Actions>
      {update === undefined ? null : (
        <ButtonLink id="see-update" kind="primary" href={page("update")}>
          Update…
        </ButtonLink>
      )}
      <ButtonLink href={page("settings")}>Settings</ButtonLink>
      <ButtonLink href={page("permissions")}>Permissions</ButtonLink>
      {entry === undefined || entry.dev ? null : (
        <Button
          id="uninstall"
          kind="danger"
          off={!model.mayOperate}
          onPress={() => void uninstall(model, row)}
        >
          Uninstall…
        </Button>
      )}
    </Actions>
  );
}

async function uninstall(model: PageModel, { id, name }: Row): Promise<void> {
  const sure = await model.questions.confirm(
    `Uninstall ${name}?`,
    "Its settings are removed, too. The bridge asks you once more, on your desktop. " +
      "To stop it only for a while, turn it off instead.",
    { yes: "Uninstall", no: "Keep it", danger: true },
  );
  if (!sure) {
    return;
  }
  const next = nextTo(model.rows, (row) => row.id === id);
  const focus = next === undefined ? "#add" : `[data-row="${next.id}"]`;
  await model.showAfter(model.uninstall(id), { view: "plugins" }, focus);
}

function Origin({ model, entry }: ViewProps & { readonly entry: ListEntry }) {
  const [host, path] = hostAndPath(entry.url);
  const key = model.catalog.key(entry.keyId);
  const facts: readonly (readonly [string, ComponentChildren])[] = [
    ["Source", entry.url && <Outside url={entry.url}>{`${host} ${path}`}</Outside>],
    ["Homepage", entry.homepage && <Outside url={entry.homepage}>{entry.homepage}</Outside>],
    ["Tags", entry.tags.length > 0 && <Tags tags={entry.tags} />],
    ["Installed", day(entry.installedAt)],
    ["Updated", entry.updatedAt === entry.installedAt ? "" : day(entry.updatedAt)],
    [
      "Author's key",
      key && <a href={fragmentOf({ view: "keys" })}>trusted since {day(key.trustedAt)}</a>,
    ],
  ];
  return (
    <Fragment>
      <h3>About</h3>
      <Facts facts={facts} />
      <Details id="plugin-details">
        <Facts
          facts={[
            ["Name", <bdi>{entry.name}</bdi>],
            ["Id", <code>{entry.id}</code>],
            ["Commit", entry.commit && <code>{entry.commit}</code>],
            ["Address", entry.url && <code>{entry.url}</code>],
            ["Fingerprint", entry.keyId && <Fingerprint model={model} keyId={entry.keyId} />],
          ]}
        />
        <p class="dim small">
          {count(entry.permissions.length + entry.optionalPermissions.length, "permission")} asked
          for, {count(entry.hosts.length, "site")} named.
        </p>
      </Details>
    </Fragment>
  );
}

function Tags({ tags }: { readonly tags: readonly string[] }) {
  return (
    <Fragment>
      {tags.map((tag, n) => (
        <Fragment key={tag}>
          {n === 0 ? "" : ", "}
          <bdi>{tag}</bdi>
        </Fragment>
      ))}
    </Fragment>
  );
}

/** A key's fingerprint, and a button that copies it. */
export function Fingerprint({ model, keyId }: ViewProps & { readonly keyId: string }) {
  return (
    <span class="row">
      <code>{keyId}</code>
      <Copy text={keyId} announcer={model.announcer} name={`Copy the fingerprint ${keyId}`} />
    </span>
  );
}

/** Terms and what they are; those without a value are left out. */
export function Facts(props: { readonly facts: readonly (readonly [string, ComponentChildren])[] }) {
  const shown = props.facts.filter(([, value]) => Boolean(value));
  return (
    <dl class="facts">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
