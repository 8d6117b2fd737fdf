/** @jsx h */
/** The one line above everything: what most needs to be known now. */

import { type ComponentChildren, Fragment, h } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { PageModel } from "../model/model.js";
import { fragmentOf, pluginRoute } from "../model/navigation.js";
import type { Task } from "../model/operations.js";
import { clock, stepWords, TROUBLE_WORDS } from "../model/words.js";
import type { ViewProps } from "./app.js";
import { StartCommand } from "./connect.js";
import { Actions, Button, ButtonLink, Reason, useSeconds } from "./parts.js";

const ANSWER_MILLISECONDS = 120_000;

/** Where a link wants to move the page, and the user's decision. */
export function DestinationBanner({ model }: ViewProps) {
  const { destination, endpoint } = model.preferences;
  const words =
    destination === undefined
      ? ""
      : `A link wants to connect this page to ${destination.endpoint} instead of ${endpoint}. ` +
        "Go there only if you started a bridge there yourself.";
  useEffect(() => {
    if (words !== "") {
      model.announcer.urgent(words);
    }
  }, [words]);
  return words === "" ? null : (
    <Frame id="destination" tone="warn" words={<p>{words}</p>}>
      <Button id="destination-go" onPress={() => model.decide(true)}>
        Connect there
      </Button>
      <Button id="destination-stay" kind="primary" onPress={() => model.decide(false)}>
        Stay
      </Button>
    </Frame>
  );
}

/** Show the first of: connection, a failure to save, safe mode, operation, build, reload, updates. */
export function Banner({ model }: ViewProps) {
  const task = model.operations.tasks.at(-1);
  if (model.trouble !== "") {
    return <TroubleBanner model={model} />;
  }
  if (model.failure !== "") {
    return (
      <Frame id="failure" tone="bad" words={<p>{model.failure}</p>}>
        <Dismiss onPress={() => model.dismissFailure()} />
      </Frame>
    );
  }
  if (model.runtime.isSafe) {
    return (
      <Fragment>
        <SafeModeBanner model={model} />
        {task === undefined ? null : <TaskBanner model={model} task={task} />}
      </Fragment>
    );
  }
  if (task !== undefined) {
    return <TaskBanner key={task.ref} model={model} task={task} />;
  }
  if (model.buildErrors.length > 0) {
    return <BuildBanner model={model} />;
  }
  return model.reloadWords === "" ? (
    <UpdatesBanner model={model} />
  ) : (
    <Frame id="reload-banner" tone="good" words={model.reloadWords}>
      <Button id="reload" kind="primary" onPress={model.reload}>
        Reload
      </Button>
    </Frame>
  );
}

function Frame(props: {
  readonly id: string;
  readonly words: ComponentChildren;
  readonly tone?: "good" | "warn" | "bad";
  readonly children?: ComponentChildren;
  readonly more?: ComponentChildren;
  /** Whether it takes the focus, once it is so. */
  readonly urgent?: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Who is writing goes on; it is announced as well.
    const isWriting = document.activeElement?.matches("input,select,textarea") === true;
    if (props.urgent === true && !isWriting) {
      box.current?.focus();
    }
  }, [props.urgent]);
  return (
    <div
      class="banner"
      id={props.id}
      data-tone={props.tone}
      role="region"
      aria-label={props.id === "safe-mode" ? "Safe mode" : "Notice"}
      tabIndex={-1}
      ref={box}
    >
      <div class="what">{props.words}</div>
      {props.children === undefined ? null : <Actions>{props.children}</Actions>}
      {props.more}
    </div>
  );
}

function TroubleBanner({ model }: ViewProps) {
  const { trouble, link } = model;
  return (
    <Frame
      id="trouble"
      tone="bad"
      words={
        <Fragment>
          <p>{trouble === "" ? "" : TROUBLE_WORDS[trouble]}</p>
          {model.carriesOn ? (
            <p class="dim">What was begun carries on. Its result will show here.</p>
          ) : null}
        </Fragment>
      }
      more={trouble === "absent" ? <StartCommand model={model} /> : null}
    >
      <Button id="retry" onPress={() => link.retry()}>
        Try now
      </Button>
    </Frame>
  );
}

function SafeModeBanner({ model }: ViewProps) {
  const all = "No plugin is running.";
  useEffect(() => model.announcer.urgent(all), [all]);
  return (
    <Frame id="safe-mode" tone="warn" words={<p>{all}</p>}>
      <Button id="leave-safe-mode" onPress={() => model.runtime.leaveSafeMode()}>
        Start the plugins
      </Button>
    </Frame>
  );
}

const TITLES = {
  install: "Installing",
  update: "Updating",
  uninstall: "Removing",
  forget_key: "Forgetting the key of",
  "": "Another page is changing",
} as const;

function TaskBanner({ model, task }: ViewProps & { readonly task: Task }) {
  const name = model.nameOfTask(task) || "a plugin";
  if (task.outcome === "") {
    return (
      <Frame
        id="operation"
        words={
          <Fragment>
            <p class="busy">
              <strong>
                {TITLES[task.kind]} {name}
              </strong>
            </p>
            <StepLine model={model} task={task} />
          </Fragment>
        }
      >
        {task.cancellable ? (
          <Button
            id="cancel"
            off={task.cancelling}
            name={`Cancel: ${TITLES[task.kind]} ${name}`}
            onPress={() => void cancel(model, task)}
          >
            Cancel
          </Button>
        ) : null}
      </Frame>
    );
  }
  return <EndedBanner model={model} task={task} />;
}

async function cancel(model: PageModel, task: Task): Promise<void> {
  model.announcer.polite("Cancelling…");
  const problem = await model.operations.cancel(task.ref);
  if (problem !== undefined) {
    model.announcer.polite(problem.words);
  }
}

function StepLine({ model, task }: ViewProps & { readonly task: Task }) {
  useSeconds();
  const { step, stepSince, cancelling, cancellable, operation } = task;
  const asks = step === "awaiting_confirmation";
  useEffect(() => {
    if (asks) {
      model.announcer.polite(`${stepWords(step)}.`);
    }
  }, [asks]);
  if (cancelling) {
    return <p class="dim">Cancelling…</p>;
  }
  if (asks) {
    const left = ANSWER_MILLISECONDS - (performance.now() - stepSince);
    const clockText = stepSince === 0 ? "" : ` (${clock(left)} left)`;
    return (
      <p id="operation-step">
        {stepWords(step)}
        {clockText}.
      </p>
    );
  }
  const late = !cancellable && operation !== "" && (step === "move" || step === "build");
  return (
    <p class="dim" id="operation-step">
      {stepWords(step)}…{late ? " Too late to cancel." : ""}
    </p>
  );
}

function EndedBanner({ model, task }: ViewProps & { readonly task: Task }) {
  const { outcome, problem, id, ref } = task;
  const done = outcome === "done";
  const reload = done && (model.rows.some((row) => row.reload) || model.isRebuilt);
  return (
    <Frame
      id="outcome"
      tone={done ? "good" : "bad"}
      urgent={!done}
      words={<p>{model.outcomeWords(task)}</p>}
      more={<Reason>{problem?.details ?? ""}</Reason>}
    >
      {reload ? (
        <Button id="reload" kind="primary" onPress={model.reload}>
          Reload
        </Button>
      ) : null}
      <AfterFailure model={model} kind={problem?.kind ?? ""} id={id} />
      <Dismiss onPress={() => model.operations.dismiss(ref)} />
    </Frame>
  );
}

function Dismiss({ onPress }: { readonly onPress: () => void }) {
  return (
    <Button id="dismiss" kind="quiet" name="Dismiss the notice" onPress={onPress}>
      Dismiss
    </Button>
  );
}

function AfterFailure(props: ViewProps & { readonly kind: string; readonly id: string }) {
  const { model, kind, id } = props;
  if (kind === "moved" && id !== "") {
    return (
      <ButtonLink href={fragmentOf(pluginRoute(id, "update"))}>Look again</ButtonLink>
    );
  }
  if (kind === "approval_unavailable") {
    return (
      <Button
        onPress={() =>
          void model.questions.confirm(
            "The question can't be shown",
            "The bridge asks in a desktop notification with buttons, so a notification " +
              "service has to run where the bridge runs, and it has to show buttons. " +
              "On a terminal there, plugin-bridge doctor finds out what is missing.",
            { yes: "Close", no: "" },
          )
        }
      >
        Help
      </Button>
    );
  }
  return null;
}

function BuildBanner({ model }: ViewProps) {
  return (
    <Frame
      id="build-failed"
      tone="bad"
      words={<p>The page couldn't be rebuilt. It goes on as it was.</p>}
      more={<Reason>{model.buildErrors.join("\n")}</Reason>}
    />
  );
}

function UpdatesBanner({ model }: ViewProps) {
  const { updates } = model.catalog;
  if (updates.length === 0 || model.route.view === "plugins" || model.route.view === "plugin") {
    return null;
  }
  return (
    <Frame id="updates-banner" words={<p>{model.updateWords}</p>}>
      <ButtonLink href={fragmentOf({ view: "plugins" })}>See updates</ButtonLink>
    </Frame>
  );
}
