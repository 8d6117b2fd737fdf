/** @jsx h */
/** What an update changes, before it is made. */

import { h } from "preact";
import { useEffect } from "preact/hooks";

import type { Changelog, Differences } from "../../../client/src/index.js";
import { type Preview, changesKey, gains } from "../model/entries.js";
import type { PageModel } from "../model/model.js";
import { fragmentOf, pluginRoute } from "../model/navigation.js";
import { riskyFirst, wordsOf } from "../permissionwords.js";
import { LookRefused, Looking, Signer, usePreview } from "./add.js";
import type { ViewProps } from "./app.js";
import { Actions, Button, Details, Title } from "./parts.js";
import { Back } from "./plugin.js";
import { Names, Want } from "./wants.js";

export function UpdateView({ model, id }: ViewProps & { readonly id: string }) {
  const { phase, look, stop } = usePreview(model);
  const connected = model.isConnected;
  const plugin = pluginRoute(id);
  useEffect(() => {
    if (connected && phase.name === "asked") {
      void look({ id });
    }
  }, [connected]);
  const leave = (): void => model.navigation.go(plugin);
  return (
    <section class="stack" id="update">
      <Back href={fragmentOf(plugin)} label={model.nameOf(id)} />
      <Title>Update {model.nameOf(id)}</Title>
      {phase.name === "looking" || phase.name === "asked" ? (
        <Looking
          step={phase.name === "looking" ? phase.step : ""}
          onCancel={() => {
            stop();
            leave();
          }}
        />
      ) : null}
      {phase.name === "refused" ? (
        <LookRefused problem={phase.problem} onAgain={() => void look({ id })} />
      ) : null}
      {phase.name === "found" ? (
        <Found model={model} id={id} preview={phase.preview} onLeave={leave} />
      ) : null}
    </section>
  );
}

interface FoundProps extends ViewProps {
  readonly id: string;
  readonly preview: Preview;
  readonly onLeave: () => void;
}

function Found({ model, id, preview, onLeave }: FoundProps) {
  const { installed, manifest, commit } = preview;
  const before = installed?.version ?? "";
  const isOtherKey = changesKey(preview);
  if (installed !== undefined && installed.commit === commit) {
    return <p id="nothing-new">{before} is the newest there is.</p>;
  }
  return (
    <div class="card stack" id="update-found">
      <p class="versions">
        <strong>{before}</strong> › <strong>{manifest.version}</strong>
      </p>
      {gains(preview.changes) ? (
        <p class="warn">
          {manifest.version} asks for more. {before} runs on until you agree.
        </p>
      ) : null}
      {isOtherKey ? (
        <p class="warn">
          Signed with another key than before. Update only if the author announced it.
        </p>
      ) : null}
      {preview.key.trusted && !isOtherKey ? null : <Signer model={model} preview={preview} />}
      <ChangeList changes={preview.changes} />
      {preview.changelog === undefined ? null : <WhatChanged changelog={preview.changelog} />}
      <Actions>
        <Button
          id="update-now"
          kind="primary"
          off={!model.mayOperate}
          onPress={() => void run(model, id, preview)}
        >
          Update
        </Button>
        <Button id="skip" onPress={() => void model.skip(id, preview).then((is) => is && onLeave())}>
          Skip
        </Button>
        <Button onPress={onLeave}>Not now</Button>
      </Actions>
      <Details>
        <p>
          Commit <code>{commit}</code>
        </p>
      </Details>
    </div>
  );
}

function run(model: PageModel, id: string, preview: Preview): Promise<void> {
  return model.showAfter(model.update(id, preview), pluginRoute(id));
}

const KINDS = { hosts: "Sites", actions: "Actions", events: "Events" } as const;

function ChangeList({ changes }: { readonly changes: Differences }) {
  const { permissions, optionalPermissions } = changes;
  const kinds = ["hosts", "actions", "events"] as const;
  const lostPermissions = [...permissions.lost, ...optionalPermissions.lost];
  const lost = [
    ...lostPermissions.map((permission) => wordsOf(permission).label),
    ...kinds.flatMap((kind) => changes[kind].lost),
  ];
  const gained = ({ gained: those }: Differences["hosts"], words: string) =>
    riskyFirst(those).map((permission) => (
      <Want key={permission} permission={permission}>
        <p class="tag">{words}</p>
      </Want>
    ));
  if (!gains(changes) && lost.length === 0) {
    return <p class="dim">It asks for nothing new.</p>;
  }
  return (
    <ul class="stack tight" id="changes">
      {gained(permissions, "New")}
      {gained(optionalPermissions, "New, when used")}
      {kinds
        .filter((kind) => changes[kind].gained.length > 0)
        .map((kind) => (
          <li class="want" key={kind}>
            <p>
              <strong>{KINDS[kind]}</strong>
            </p>
            <Names names={changes[kind].gained} />
            <p class="tag">New</p>
          </li>
        ))}
      {lost.length === 0 ? null : <li class="want dim">No longer: {lost.join(", ")}</li>}
    </ul>
  );
}

function WhatChanged({ changelog }: { readonly changelog: Changelog }) {
  const { notes, commits } = changelog;
  const behind = commits.length;
  if (notes === "" && behind === 0) {
    return null;
  }
  const many = behind >= 50 ? "50 or more" : String(behind);
  return (
    <Details summary={behind === 0 ? "What changed" : `What changed (${many})`} id="changelog">
      {/* Text of others: only the marks of its headings are left out. */}
      {notes === "" ? null : <p class="notes" dir="auto">{notes.replace(/^#+[ \t]+/gm, "").trim()}</p>}
      <ul class="changelog">
        {commits.map(({ commit, time, summary }) => (
          <li key={commit}>
            <time class="dim">{time.slice(0, 10)}</time> <bdi>{summary}</bdi>
          </li>
        ))}
      </ul>
    </Details>
  );
}
