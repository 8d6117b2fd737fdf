/** @jsx h */
/** The settings of the page itself. */

import { h } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { Target } from "../../../client/src/index.js";
import type { PageModel } from "../model/model.js";
import { fragmentOf } from "../model/navigation.js";
import { WAITING_WORDS, explain } from "../model/words.js";
import type { ViewProps } from "./app.js";
import { Address } from "./connect.js";
import { Actions, Button, ButtonLink, Group, Switch, Title } from "./parts.js";

export function SettingsView({ model }: ViewProps) {
  return (
    <section class="panel stack" id="settings">
      <Title>Settings</Title>
      <Connection model={model} />
      <UpdateCheck model={model} />
      <Notifications model={model} />
      <Group title="Authors' keys">
        <Actions>
          <ButtonLink href={fragmentOf({ view: "keys" })}>See the keys</ButtonLink>
        </Actions>
      </Group>
    </section>
  );
}

function Connection({ model }: ViewProps) {
  const { link } = model;
  return (
    <Group title="Connection">
      <p id="bridge-version">
        {model.standingWords.replace("…", "")}.
        {link.version === "" ? "" : ` The bridge is version ${link.version}.`}
      </p>
      <Actions>
        <Button
          id="recheck"
          onPress={() => {
            link.retry();
            model.announcer.polite(model.standingWords);
          }}
        >
          Check it now
        </Button>
        <Button id="unpair" onPress={() => model.unpair()}>
          Use another code
        </Button>
      </Actions>
      <Address model={model} />
    </Group>
  );
}

function UpdateCheck({ model }: ViewProps) {
  const { state } = model;
  const change = (on: boolean): void => {
    const done = on ? "Updates are looked for once a day." : "Not any more.";
    void model.saved(state.setChecksDaily(on), done, "Nothing changed.");
  };
  return (
    <Group title="Updates">
      <div class="row">
        <p>Look for updates once a day</p>
        <Switch
          id="daily"
          label="Look for updates once a day"
          on={state.checksDaily}
          off={!model.isConnected}
          onChange={change}
        />
      </div>
    </Group>
  );
}

const HEALTH: { readonly [health: string]: string } = {
  up: "works",
  down: "isn't running",
};

function Notifications({ model }: ViewProps) {
  const [targets, setTargets] = useState<readonly Target[] | undefined>(undefined);
  const connected = model.isConnected;
  useEffect(() => {
    if (connected) {
      const read = (): Promise<{ targets: Target[] }> => model.link.call("notify/targets");
      void model.persist("targets", read).then(({ targets }) => setTargets(targets));
    }
  }, [connected]);
  return (
    <Group title="Notifications">
      {targets === undefined ? <p>{WAITING_WORDS}</p> : null}
      {targets?.length === 0 ? <p class="empty">There is nowhere to show any.</p> : null}
      <ul class="targets">
        {(targets ?? []).map((target) => (
          <TargetRow key={target.name} model={model} target={target} />
        ))}
      </ul>
    </Group>
  );
}

function TargetRow({ model, target }: ViewProps & { readonly target: Target }) {
  const [result, setResult] = useState("");
  const { name, description, health } = target;
  const test = async (): Promise<void> => {
    const words = await sendTest(model, name);
    setResult(words);
    model.announcer.polite(words);
  };
  const standing = HEALTH[health];
  return (
    <li data-testid={`target-${name}`}>
      <p>
        <strong>{name}</strong>
        {standing === undefined ? "" : `, ${standing}`}
        <span class="dim"> {description}</span>
      </p>
      <div class="row">
        <Button name={`Send a test to ${name}`} onPress={() => void test()}>
          Send a test
        </Button>
        <p class="dim" data-testid={`test-${name}`}>
          {result}
        </p>
      </div>
    </li>
  );
}

async function sendTest(model: PageModel, name: string): Promise<string> {
  const title = "A test from the plugin page";
  try {
    const test = { title, content: "It works.", sinks: [name] };
    const { delivered, failed } = await model.link.call("notify/send", test);
    return delivered.includes(name)
      ? "Sent. You should see it now."
      : `It wasn't shown. ${failed[0]?.error ?? ""}`.trim();
  } catch (e) {
    return explain(e).words;
  }
}
