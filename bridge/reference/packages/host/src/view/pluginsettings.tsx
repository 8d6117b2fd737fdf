/** @jsx h */
/** The settings of one plugin, as a form made from its schema. */

import type { Json } from "@bridge/plugin-api";
import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { KeyedField, Schema } from "../../../api/src/schemarules.js";
import type { PageModel } from "../model/model.js";
import { fragmentOf, pluginRoute } from "../model/navigation.js";
import { problemOf } from "../../../api/src/settingrules.js";
import { type Saving, changesOf, readValue } from "../pagesettings.js";
import type { Values } from "../settings.js";
import type { ViewProps } from "./app.js";
import {
  Actions,
  Button,
  Field,
  Reason,
  Select,
  Switch,
  Title,
  focusOn,
  submits,
} from "./parts.js";
import { Back } from "./plugin.js";
import { PluginSwitch } from "./pluginlist.js";

interface PluginProps extends ViewProps {
  readonly id: string;
}

export function PluginSettingsView({ model, id }: PluginProps) {
  const row = model.row(id);
  const loaded = model.runtime.settingsSchema(id);
  // What was written outlasts the plugin, as when its switch is pressed, or all start again.
  const known = useRef(loaded);
  const isGone = row === undefined || row.status === "removed";
  known.current = loaded ?? (isGone ? undefined : known.current);
  const schema = known.current ?? [];
  const name = model.nameOf(id);
  return (
    <section class="stack" id="plugin-settings">
      <Back href={fragmentOf(pluginRoute(id))} label={name} />
      <Title>Settings of {name}</Title>
      {loaded === undefined && !isGone && !row.enabled ? (
        <div class="row">
          <p>Turn it on to {schema.length === 0 ? "change these" : "save"}.</p>
          <PluginSwitch model={model} row={row} id="plugin-switch" />
        </div>
      ) : null}
      {loaded === undefined && (isGone || row.enabled) ? (
        <p>{row === undefined ? "This plugin isn't installed." : row.words}</p>
      ) : null}
      {loaded?.length === 0 ? <p id="no-settings">It has none.</p> : null}
      {schema.length === 0 ? null : (
        <Form model={model} id={id} schema={schema} off={loaded === undefined} />
      )}
    </section>
  );
}

interface FormProps extends PluginProps {
  readonly schema: Schema;
  /** Whether the plugin does not run, and nothing can be saved. */
  readonly off: boolean;
}

function Form({ model, id, schema, off }: FormProps) {
  const { runtime, announcer, navigation } = model;
  const [draft, setDraft] = useState<Values>({});
  const [problems, setProblems] = useState<{ readonly [key: string]: string }>({});
  // What became of the form, until it is edited again.
  const [[words, look, reason], say] = useState<readonly string[]>([]);
  const known = useRef<Values>({});
  const saved = off ? known.current : (known.current = runtime.settings(id));
  const changes = changesOf(schema, saved, draft);
  const dirty = Object.keys(changes).length > 0;
  useEffect(() => {
    if (!dirty) {
      return undefined;
    }
    navigation.guard(() => mayLeave(model));
    // The browser asks in its own words when the page is closed or loaded again.
    const stay = (event: Event): void => {
      if (navigation.isGuarded) {
        event.preventDefault();
      }
    };
    addEventListener("beforeunload", stay);
    return () => {
      navigation.guard(undefined);
      removeEventListener("beforeunload", stay);
    };
  }, [dirty]);

  // What is asked about a form goes with it, and with its plugin.
  useEffect(() => () => model.questions.withdraw(""), [off]);

  const change = (field: KeyedField, written: Json): void => {
    say([]);
    setDraft({ ...draft, [field.key]: written });
    const problem = problemOf(field, readValue(field, written));
    const { [field.key]: _, ...others } = problems;
    // A mistake is pointed out when saving; but one that is corrected goes at once.
    setProblems(problem === "" ? others : problems);
  };
  const report = (saving: Saving, done: string): void => {
    const found = saving.outcome === "invalid" ? saving.problems : {};
    setProblems(found);
    const wrong = schema.find(({ key }) => key in found);
    if (wrong !== undefined) {
      announcer.urgent(`${wrong.label}: ${String(found[wrong.key])}`);
      focusOn(`setting-${wrong.key}`);
    } else if (saving.outcome === "not-saved") {
      say([`Couldn't save: ${saving.labels.join(", ")}.`, "error", saving.reason]);
    } else {
      // What was typed meanwhile stays.
      setDraft((now) =>
        Object.fromEntries(Object.entries(now).filter(([key, value]) => value !== draft[key])),
      );
      say([done, "good"]);
    }
  };
  const save = async (): Promise<void> => {
    if (off || !dirty) {
      say([off ? "The plugin has to run first." : "Nothing has changed.", "dim"]);
      return;
    }
    // The same words again are announced only when they were gone meanwhile.
    say([]);
    report(await runtime.saveSettings(id, changes), "Saved.");
  };
  const reset = async (): Promise<void> => {
    const sure = await model.questions.confirm(
      "Reset these settings?",
      "Each one gets the value that the plugin's author chose.",
      { yes: "Reset", no: "Keep them", danger: true },
    );
    if (sure) {
      say([]);
      report(await runtime.resetSettings(id), "Reset.");
    }
  };
  return (
    <form class="stack" onSubmit={submits(() => void save())}>
      {schema.map((field) => (
        <SettingField
          key={field.key}
          field={field}
          value={draft[field.key] ?? saved[field.key] ?? field.default}
          problem={problems[field.key] ?? ""}
          onValue={(value) => change(field, value)}
        />
      ))}
      <Actions>
        <button type="submit" class="primary" id="save" aria-disabled={off || !dirty}>
          Save
        </button>
        <Button id="reset" off={off} onPress={() => void reset()}>
          Reset…
        </Button>
        {/* There from the start, so that screen readers watch it. */}
        <p id="said" class={look} role="status" dir="auto">
          {words}
        </p>
      </Actions>
      <Reason>{reason ?? ""}</Reason>
    </form>
  );
}

function mayLeave(model: PageModel): Promise<boolean> {
  return model.questions.confirm("Leave without saving?", "Your changes would be lost.", {
    yes: "Leave",
    no: "Stay",
    danger: true,
  });
}

interface SettingProps {
  readonly field: KeyedField;
  readonly value: Json;
  readonly problem: string;
  readonly onValue: (value: Json) => void;
}

function SettingField({ field, value, problem, onValue }: SettingProps) {
  const id = `setting-${field.key}`;
  const help = field.help ?? "";
  const shared = { id, label: field.label, value: String(value), onValue };
  switch (field.type) {
    case "boolean":
      return (
        <div class="field">
          <div class="row">
            <p class="strong" dir="auto">{field.label}</p>
            <Switch id={id} label={field.label} on={value === true} onChange={onValue} />
          </div>
          {help === "" ? null : (
            <p class="dim small" dir="auto">
              {help}
            </p>
          )}
        </div>
      );
    case "choice":
      return <Select {...shared} options={field.options} help={help} />;
    case "number":
      return (
        <Field
          {...shared}
          mode={field.integer === true ? "numeric" : "decimal"}
          help={`${limits(field)} ${help}`.trim()}
          error={problem}
        />
      );
    case "text":
      return <Field {...shared} multiline={field.multiline === true} help={help} error={problem} />;
  }
}

function limits({ min, max }: Extract<KeyedField, { type: "number" }>): string {
  if (min !== undefined && max !== undefined) {
    return `${min} to ${max}.`;
  }
  if (min !== undefined) {
    return `At least ${min}.`;
  }
  return max === undefined ? "" : `At most ${max}.`;
}
