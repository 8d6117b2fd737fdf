/** @jsx h */
import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { TROUBLE_WORDS } from "../model/words.js";
import { readEndpoint } from "../preferences.js";
import type { ViewProps } from "./app.js";
import {
  Actions,
  Button,
  Copy,
  Details,
  Field,
  Title,
  focusOn,
  submits,
  useAfter,
} from "./parts.js";

const START = "plugin-bridge run --host reference";
const PRINT_TOKEN = `${START} --print-token`;
// Such a page has no origin that the daemon answers.
const FILE_WORDS = "A page that was opened as a file can't connect. Use its http address.";
const PATIENCE_MILLISECONDS = 400;

/** Finding the daemon, and pairing with it. */
export function ConnectView({ model }: ViewProps) {
  const { link } = model;
  const [code, setCode] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const [words, urgent] = useWords(model);
  const focus = (): void => form.current?.querySelector("input")?.focus();
  useEffect(() => {
    if (urgent) {
      model.announcer.urgent(words);
      focus();
    } else if (words !== "") {
      model.announcer.polite(words);
    }
  }, [words, urgent]);
  // A page that is paired needs the bridge to run, not another code.
  const mayPair = link.state === "unpaired" || model.preferences.first === "";
  const pair = (): void => {
    const token = code.trim();
    if (token === "") {
      focus();
      return;
    }
    setCode("");
    model.pair(token);
  };
  return (
    <section class="panel narrow stack" id="connect">
      <Title>Connect</Title>
      <p id="connect-words" class={urgent ? "error" : undefined} data-state={link.state}>
        {words}
      </p>
      {link.state === "absent" || link.state === "waiting" ? (
        <Actions>
          <Button id="retry" kind="primary" onPress={() => link.retry()}>
            {link.state === "absent" ? "Try again" : "Try now"}
          </Button>
        </Actions>
      ) : null}
      {mayPair ? (
        <form ref={form} onSubmit={submits(pair)}>
          <Field id="token" label="Pairing code" value={code} onValue={setCode}>
            <button type="submit" id="pair" class="primary">
              Pair
            </button>
          </Field>
        </form>
      ) : null}
      {mayPair && link.endpoint !== model.preferences.endpoint ? (
        <p class="error">
          A link has led this page to {link.endpoint}. Pair it only if you chose this address.
        </p>
      ) : null}
      {mayPair ? <Command model={model} words="To get the code, run this in a terminal:" command={PRINT_TOKEN} /> : null}
      {link.state === "absent" ? <StartCommand model={model} /> : null}
      <Address model={model} />
    </section>
  );
}

/** How to start the daemon. */
export function StartCommand({ model }: ViewProps) {
  return <Command model={model} words="To start it, run this in a terminal:" command={START} />;
}

function Command(props: ViewProps & { readonly words: string; readonly command: string }) {
  return (
    <div class="stack tight">
      <p class="dim">{props.words}</p>
      <div class="row command">
        <code>{props.command}</code>
        <Copy text={props.command} announcer={props.model.announcer} name="Copy the command" />
      </div>
    </div>
  );
}

/** What is the matter, and whether the user has to act. */
type Words = readonly [words: string, urgent: boolean];

function useWords({ link }: ViewProps["model"]): Words {
  const { state, reason } = link;
  const slow = useAfter(PATIENCE_MILLISECONDS, state);
  const kept = useRef<Words>(["", false]);
  const found = wordsOf(state, reason);
  if (found !== undefined) {
    kept.current = found;
  } else if (slow) {
    kept.current = ["Connecting…", false];
  }
  return kept.current;
}

function wordsOf(state: string, reason: string): Words | undefined {
  switch (state) {
    case "absent":
      return [location.protocol === "file:" ? FILE_WORDS : TROUBLE_WORDS.absent, false];
    case "waiting":
      return ["Couldn't connect. Trying again.", false];
    case "unpaired":
      if (reason === "refused") {
        // One that was pasted, or the one that this page has.
        return ["The bridge doesn't accept the code. Copy all of the current one.", true];
      }
      return reason === "rotated"
        ? ["The pairing code was replaced. Pair again.", true]
        : ["Paste the pairing code to connect this page.", false];
    default:
      return undefined;
  }
}

/** Where the daemon listens. */
export function Address({ model }: ViewProps) {
  const [address, setAddress] = useState(model.link.endpoint);
  const [error, setError] = useState("");
  const use = (): void => {
    const endpoint = readEndpoint(address);
    setError(
      endpoint === undefined
        ? "Enter http://127.0.0.1 or http://localhost, followed by a colon and a port."
        : "",
    );
    if (endpoint === undefined) {
      model.announcer.urgent("This isn't an address of this computer.");
      focusOn("endpoint");
    } else {
      setAddress(endpoint);
      model.moveTo(endpoint);
    }
  };
  return (
    <Details summary="Address">
      <form onSubmit={submits(use)}>
        <Field
          id="endpoint"
          label="Address of the bridge"
          mode="url"
          value={address}
          onValue={setAddress}
          error={error}
        >
          <button type="submit" id="endpoint-save">
            Use
          </button>
        </Field>
      </form>
    </Details>
  );
}
