/** @jsx h */
/** Adding a plugin: first look at it, then install it. */

import { Fragment, h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { hostAndPath, suggestion } from "../model/address.js";
import type { Preview } from "../model/entries.js";
import type { PageModel } from "../model/model.js";
import { fragmentOf, pluginRoute } from "../model/navigation.js";
import { day, type Problem } from "../model/words.js";
import type { ViewProps } from "./app.js";
import {
  Actions,
  Button,
  ButtonLink,
  By,
  Details,
  Field,
  Reason,
  Title,
  focusOn,
  submits,
  useAfter,
} from "./parts.js";
import { Back, Fingerprint, Icon, Readme } from "./plugin.js";
import { Wants } from "./wants.js";

const SLOW_MILLISECONDS = 10_000;

type Phase =
  | { readonly name: "asked" }
  | { readonly name: "looking"; readonly step: string }
  | { readonly name: "found"; readonly preview: Preview }
  | { readonly name: "refused"; readonly problem: Problem };

/** Asks for a preview, and follows it; the last one counts. */
export function usePreview(model: PageModel) {
  const [phase, setPhase] = useState<Phase>({ name: "asked" });
  const abort = useRef<AbortController | undefined>(undefined);
  const look = async (what: { url: string } | { id: string }): Promise<void> => {
    abort.current?.abort();
    const mine = new AbortController();
    abort.current = mine;
    setPhase({ name: "looking", step: "" });
    model.announcer.polite("Downloading and checking…");
    const result = await model.tryPreview(what, mine.signal, ({ step }) => {
      if (abort.current === mine) {
        setPhase({ name: "looking", step });
      }
    });
    if (abort.current !== mine) {
      return;
    }
    if ("problem" in result) {
      setPhase({ name: "refused", problem: result.problem });
      model.announcer.urgent(result.problem.words);
    } else {
      setPhase({ name: "found", preview: result.preview });
    }
  };
  const stop = (): void => {
    abort.current?.abort();
    abort.current = undefined;
    setPhase({ name: "asked" });
  };
  // Nothing is announced to who has left.
  useEffect(() => stop, []);
  return { phase, look, stop };
}

/** What is shown while a preview is made. */
export function Looking(props: { readonly step: string; readonly onCancel: () => void }) {
  const slow = useAfter(SLOW_MILLISECONDS);
  const asks = props.step === "awaiting_confirmation";
  const words = asks
    ? "This is on your own network. Answer on your desktop."
    : "Downloading and checking…";
  return (
    <div class="row" id="looking">
      <p class="busy">
        {words}
        {slow && !asks ? " This can take 2 minutes." : ""}
      </p>
      <Button id="cancel-look" onPress={props.onCancel}>
        Cancel
      </Button>
    </div>
  );
}

/** Why there is no preview. */
export function LookRefused(props: { readonly problem: Problem; readonly onAgain: () => void }) {
  const { problem, onAgain } = props;
  return (
    <div class="error stack tight" id="look-refused">
      <p>{problem.words}</p>
      <Reason>{problem.details}</Reason>
      <Actions>
        <Button id="look-again" onPress={onAgain}>
          Look again
        </Button>
      </Actions>
    </div>
  );
}

export function AddView({ model }: ViewProps) {
  const [url, setUrl] = useState("");
  const [error, setError] = useState("");
  const { phase, look, stop } = usePreview(model);
  const meant = suggestion(url);
  const begin = (address: string): void => {
    const problem = address.trim() === "" ? "Enter the address of a repository." : "";
    setError(problem);
    if (problem === "" && suggestion(address) === undefined) {
      void look({ url: address.trim() });
      return;
    }
    model.announcer.urgent(problem || (suggestion(address)?.words ?? ""));
    focusOnAddress();
  };
  return (
    <section class="stack" id="add-view">
      <Back />
      <Title>Add a plugin</Title>
      <form onSubmit={submits(() => begin(url))}>
        <Field
          id="install-url"
          label="Address of its repository"
          mode="url"
          placeholder="https://"
          value={url}
          error={error}
          onValue={(value) => {
            setUrl(value);
            setError("");
            if (phase.name !== "asked") {
              stop();
            }
          }}
        >
          <button type="submit" id="look" class={phase.name === "found" ? "" : "primary"}>
            Look at it
          </button>
        </Field>
      </form>
      {meant === undefined ? null : (
        <div class="row" id="suggestion">
          <p>
            {meant.words} {meant.words.endsWith("?") ? null : <code>{meant.url}</code>}
          </p>
          <Button
            id="use-suggestion"
            onPress={() => {
              setUrl(meant.url);
              begin(meant.url);
              focusOnAddress();
            }}
          >
            Use this
          </Button>
        </div>
      )}
      {phase.name === "looking" ? (
        <Looking
          step={phase.step}
          onCancel={() => {
            stop();
            model.announcer.polite("Cancelled.");
            focusOnAddress();
          }}
        />
      ) : null}
      {phase.name === "refused" ? (
        <LookRefused problem={phase.problem} onAgain={() => begin(url)} />
      ) : null}
      {phase.name === "found" ? (
        <PreviewPanel
          model={model}
          preview={phase.preview}
          onLeave={() => {
            stop();
            focusOnAddress();
          }}
        />
      ) : null}
    </section>
  );
}

function focusOnAddress(): void {
  focusOn("install-url");
}

interface PreviewProps extends ViewProps {
  readonly preview: Preview;
  readonly onLeave: () => void;
}

function PreviewPanel({ model, preview, onLeave }: PreviewProps) {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), [preview]);
  const { manifest, url } = preview;
  // As it is now: it may be installed elsewhere meanwhile.
  const installed = model.catalog.find(manifest.id);
  const [host, path] = hostAndPath(url);
  const isShown = useRef(true);
  useEffect(() => () => void (isShown.current = false), []);
  // Who types the next address meanwhile goes on with that.
  const install = (): Promise<void> =>
    model.showAfter(
      model.install(preview),
      pluginRoute(manifest.id),
      "",
      () => isShown.current,
    );
  return (
    <div class="card stack" id="preview">
      <div class="row">
        <Icon about={preview.about} />
        <h3 tabIndex={-1} ref={title}>
          <bdi>{model.nameOfNew(manifest)}</bdi> {manifest.version}
        </h3>
      </div>
      <p>
        {manifest.author === undefined ? null : <By author={manifest.author} />}
        From <strong>{host}</strong> <span class="dim">{path}</span>
      </p>
      {manifest.description === "" ? null : <p dir="auto">{manifest.description}</p>}
      <Signer model={model} preview={preview} />
      {installed === undefined ? (
        <Wants manifest={manifest} />
      ) : (
        <p>
          You have {installed.version} already.
          {installed.url === ""
            ? ""
            : ` Its updates come from ${hostAndPath(installed.url).join(" ")}.`}
        </p>
      )}
      <Actions>
        {installed === undefined ? (
          <Button
            id="install"
            kind="primary"
            off={!model.mayOperate}
            onPress={() => void install()}
          >
            Install
          </Button>
        ) : (
          <ButtonLink
            id="see-changes"
            kind="primary"
            href={fragmentOf(pluginRoute(manifest.id, "update"))}
          >
            See changes
          </ButtonLink>
        )}
        <Button onPress={onLeave}>Not now</Button>
      </Actions>
      <Readme about={preview.about} />
      <Details>
        <p>
          <code>{manifest.id}</code>, commit <code>{preview.commit}</code>
        </p>
      </Details>
    </div>
  );
}

/** Who signed it, and whether the user knows them. */
export function Signer({ model, preview }: ViewProps & { readonly preview: Preview }) {
  const { trusted, trustedAt, keyId } = preview.key;
  if (trusted) {
    const since = trustedAt === undefined ? "" : ` since ${day(trustedAt)}`;
    return <p class="good">Signed by an author you have trusted{since}.</p>;
  }
  return (
    <Fragment>
      <p class="warn">You don't know this author's key. Compare it with the one they published.</p>
      <Fingerprint model={model} keyId={keyId} />
    </Fragment>
  );
}
