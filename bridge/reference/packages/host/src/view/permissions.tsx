/** @jsx h */
/** What one plugin may do, and what the user allowed it. */

import { h } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { Grant } from "../grants.js";
import type { PageModel } from "../model/model.js";
import { fragmentOf, pluginRoute } from "../model/navigation.js";
import { WAITING_WORDS } from "../model/words.js";
import { useOf, wordsOf } from "../permissionwords.js";
import type { ViewProps } from "./app.js";
import { AskAgain, Button, Title, nextTo } from "./parts.js";
import { Back } from "./plugin.js";
import { Wants } from "./wants.js";

export function PermissionsView({ model, id }: ViewProps & { readonly id: string }) {
  const [grants, setGrants] = useState<readonly Grant[]>([]);
  useEffect(() => {
    // Without a connection, what the manifest declares is shown alone.
    const read = (): void =>
      void model.runtime.grants(id).then(setGrants, () => setGrants([]));
    read();
    return model.state.changed.listen(read);
  }, [id]);
  const manifest = model.runtime.manifest(id) ?? model.catalog.find(id);
  const name = model.nameOf(id);
  return (
    <section class="stack" id="permissions">
      <Back href={fragmentOf(pluginRoute(id))} label={name} />
      <Title>Permissions of {name}</Title>
      <AskAgain model={model} row={{ id, name }} />
      {manifest === undefined ? (
        <p>{WAITING_WORDS}</p>
      ) : (
        <Wants
          manifest={manifest}
          more={(permission) => (
            <Allowed model={model} id={id} permission={permission} grants={grants} />
          )}
        />
      )}
    </section>
  );
}

interface AllowedProps extends ViewProps {
  readonly id: string;
  readonly permission: string;
  readonly grants: readonly Grant[];
}

function Allowed({ model, id, permission, grants }: AllowedProps) {
  const uses = grants.filter(({ kind }) => kind === permission);
  if (uses.length === 0) {
    return null;
  }
  return (
    <div class="row allowed">
      <p>
        You allowed it to {uses.map(({ target }) => useOf(permission, target)).join(", and to ")}.
      </p>
      <Button
        name={`Take back: ${wordsOf(permission).label}`}
        off={!model.isConnected}
        onPress={() => void takeBack(model, id, permission)}
      >
        Take back
      </Button>
    </div>
  );
}

async function takeBack(model: PageModel, id: string, permission: string): Promise<void> {
  const buttons = [...document.querySelectorAll<HTMLElement>("#permissions .allowed button")];
  const next = nextTo(buttons, (button) => button === document.activeElement);
  const saving = model.runtime.revoke(id, permission);
  if (await model.saved(saving, "It will ask again.", "It is still allowed.")) {
    next?.focus();
  }
}
