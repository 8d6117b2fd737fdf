/** @jsx h */
/** The authors' keys that were accepted. */

import { h } from "preact";
import { useEffect } from "preact/hooks";

import type { KeyEntry } from "../../../client/src/index.js";
import type { PageModel } from "../model/model.js";
import { fragmentOf } from "../model/navigation.js";
import { WAITING_WORDS, day } from "../model/words.js";
import type { ViewProps } from "./app.js";
import { Actions, Button, Title, nextTo } from "./parts.js";
import { Back, Fingerprint } from "./plugin.js";

export function KeysView({ model }: ViewProps) {
  const { keys } = model.catalog;
  useEffect(() => {
    void model.catalog.refreshKeys();
  }, []);
  return (
    <section class="panel stack" id="keys">
      <Back href={fragmentOf({ view: "settings" })} label="Settings" />
      <Title>Authors' keys</Title>
      <p class="dim">
        Each plugin is signed with its author's key. You accepted these: what they sign installs
        without a question about the key.
      </p>
      {keys === undefined ? <p>{WAITING_WORDS}</p> : null}
      {keys?.length === 0 ? <p class="empty">No keys yet.</p> : null}
      <ul class="keys">
        {(keys ?? []).map((key) => (
          <KeyRow key={key.keyId} model={model} of={key} />
        ))}
      </ul>
    </section>
  );
}

function KeyRow({ model, of }: ViewProps & { readonly of: KeyEntry }) {
  const { keyId, trustedAt, installed, seenFor } = of;
  const names = (installed.length > 0 ? installed : seenFor).map((id) => model.nameOf(id));
  const signs = installed.length > 0 ? "signs" : "once signed";
  return (
    <li data-testid={`key-${keyId}`}>
      <Fingerprint model={model} keyId={keyId} />
      <p>
        Trusted since {day(trustedAt)}
        {names.length === 0 ? "" : `; ${signs} ${names.join(", ")}`}.
      </p>
      <Actions>
        <Button
          kind="danger"
          name={`Forget the key ${keyId}`}
          off={!model.mayOperate}
          onPress={() => void forget(model, of, names)}
        >
          Forget…
        </Button>
      </Actions>
    </li>
  );
}

async function forget(model: PageModel, { keyId }: KeyEntry, names: readonly string[]): Promise<void> {
  const sure = await model.questions.confirm(
    "Forget this key?",
    "Plugins stay. You'll be asked next time something is signed with it.",
    { yes: "Forget", no: "Keep it", danger: true },
  );
  if (!sure) {
    return;
  }
  const next = nextTo(model.catalog.keys ?? [], (key) => key.keyId === keyId);
  const { outcome } = await model.forgetKey(keyId, names.join(", ") || keyId);
  if (outcome === "done" && next !== undefined) {
    document.querySelector<HTMLElement>(`[data-testid="key-${next.keyId}"] button`)?.focus();
  }
}
