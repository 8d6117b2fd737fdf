/** @jsx h */
/** What one plugin may do, and what the user allowed it. */

import { h } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { PageModel } from "../model/model.js";
import { fragmentOf } from "../model/navigation.js";
import { PERMISSIONS_FOOT } from "../permissionwords.js";
import type { PermissionState } from "../runtime.js";
import type { ViewProps } from "./app.js";
import { AskAgain, Button, Title } from "./parts.js";
import { Back } from "./plugin.js";
import { Want, Wants } from "./wants.js";

export function PermissionsView({ model, id }: ViewProps & { readonly id: string }) {
  const [states, setStates] = useState<readonly PermissionState[] | undefined>(undefined);
  const read = async (): Promise<void> => {
    try {
      setStates(await model.runtime.grants(id));
    } catch {
      // Without a connection; what the manifest declares is shown instead.
      setStates(undefined);
    }
  };
  useEffect(() => {
    void read();
    return model.runtime.on(() => void read());
  }, [id]);
  const entry = model.catalog.find(id);
  const known = states !== undefined && states.length > 0;
  return (
    <section class="stack" id="permissions">
      <Back href={fragmentOf({ view: "plugin", id, page: "" })} label={model.nameOf(id)} />
      <Title>Permissions of {model.nameOf(id)}</Title>
      <AskAgain model={model} row={{ id, name: model.nameOf(id) }} />
      {known ? <Granted model={model} id={id} states={states} /> : null}
      {!known && entry !== undefined ? <Wants entry={entry} /> : null}
      {!known && entry === undefined ? <p>Waiting for the bridge.</p> : null}
    </section>
  );
}

interface GrantedProps extends ViewProps {
  readonly id: string;
  readonly states: readonly PermissionState[];
}

function Granted({ model, id, states }: GrantedProps) {
  const group = (title: string, optional: boolean) => {
    const shown = states.filter((state) => state.optional === optional);
    return shown.length === 0 ? null : (
      <div class="stack tight">
        <h3>{title}</h3>
        <ul class="wants">
          {shown.map((state) => (
            <Want key={state.permission} permission={state.permission} names={state.named}>
              <Allowed model={model} id={id} state={state} />
            </Want>
          ))}
        </ul>
      </div>
    );
  };
  return (
    <div class="stack">
      {group("Needed", false)}
      {group("When used", true)}
      <p class="dim small">{PERMISSIONS_FOOT}</p>
    </div>
  );
}

function Allowed(props: ViewProps & { readonly id: string; readonly state: PermissionState }) {
  const { model, id, state } = props;
  if (state.granted.length === 0) {
    return null;
  }
  return (
    <div class="row wrap allowed">
      <p>You allowed it to {state.granted.map(({ words }) => words).join(", and to ")}.</p>
      <Button
        name={`Take back: ${state.label}`}
        off={model.link.state !== "connected"}
        onPress={() => void takeBack(model, id, state.permission)}
      >
        Take back
      </Button>
    </div>
  );
}

async function takeBack(model: PageModel, id: string, permission: string): Promise<void> {
  const buttons = [...document.querySelectorAll<HTMLElement>("#permissions .allowed button")];
  const at = buttons.findIndex((button) => button === document.activeElement);
  if (await model.runtime.revoke(id, permission)) {
    model.announcer.polite("It will ask again.");
    (buttons[at + 1] ?? buttons[at - 1])?.focus();
  } else {
    model.announcer.urgent("Couldn't save. It is still allowed.");
  }
}
