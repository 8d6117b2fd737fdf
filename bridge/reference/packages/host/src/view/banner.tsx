/** @jsx h */
/** The one line above everything: what most needs to be known now. */

import { type ComponentChildren, Fragment, h } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { type Manager, TROUBLE_WORDS } from "../manager/manager.js";
import { fragmentOf } from "../manager/route.js";
import type { Task } from "../manager/work.js";
import { clock, count, stepWords } from "../manager/words.js";
import type { ViewProps } from "./app.js";
import { Button, ButtonLink, Details, useSeconds } from "./parts.js";

const ANSWER_MILLISECONDS = 120_000;

/** Show the first of: connection, safe mode, operation, build, reload, updates. */
export function Banner({ manager }: ViewProps) {
  const task = manager.work.tasks.at(-1);
  if (manager.trouble !== "") {
    return <TroubleBanner manager={manager} />;
  }
  if (manager.isBridgeOld) {
    return <OldBanner manager={manager} />;
  }
  if (manager.runtime.safeMode.active) {
    return (
      <Fragment>
        <SafeModeBanner manager={manager} />
        {task === undefined ? null : <TaskBanner manager={manager} task={task} />}
      </Fragment>
    );
  }
  if (task !== undefined) {
    return <TaskBanner key={task.ref} manager={manager} task={task} />;
  }
  if (manager.buildErrors.length > 0) {
    return <BuildBanner manager={manager} />;
  }
  return reloadWords(manager) === "" ? (
    <UpdatesBanner manager={manager} />
  ) : (
    <Frame id="reload-banner" tone="good" words={reloadWords(manager)}>
      <Button id="reload" kind="primary" onPress={manager.reload}>
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
    if (props.urgent === true) {
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
      {props.children === undefined ? null : <div class="actions">{props.children}</div>}
      {props.more}
    </div>
  );
}

function TroubleBanner({ manager }: ViewProps) {
  const { trouble, link } = manager;
  return (
    <Frame id="trouble" tone="bad" words={<p>{trouble === "" ? "" : TROUBLE_WORDS[trouble]}</p>}>
      <Button id="retry" onPress={() => link.retry()}>
        Try now
      </Button>
    </Frame>
  );
}

function OldBanner({ manager }: ViewProps) {
  return (
    <Frame
      id="old-bridge"
      tone="warn"
      words={<p>Update the bridge to use this page.</p>}
      more={
        <Details>
          <p>The bridge that runs is version {manager.link.version}.</p>
        </Details>
      }
    />
  );
}

function SafeModeBanner({ manager }: ViewProps) {
  const { culprit, suspects } = manager.runtime.safeMode;
  const name = culprit === undefined ? "" : manager.nameOf(culprit);
  const all = `No plugin is running.${suspectWords(suspects.map((id) => manager.nameOf(id)))}`;
  useEffect(() => manager.announcer.urgent(all), [all]);
  const isOff = culprit !== undefined && !manager.runtime.enabled(culprit);
  return (
    <Frame id="safe-mode" tone="warn" words={<p>{all}</p>}>
      {culprit === undefined || isOff ? null : (
        <Button
          id="turn-off-culprit"
          kind="primary"
          onPress={() => void manager.setEnabled(culprit, false)}
        >
          Turn off {name}
        </Button>
      )}
      <Button id="leave-safe-mode" onPress={() => void manager.runtime.leaveSafeMode()}>
        Start the plugins
      </Button>
    </Frame>
  );
}

function suspectWords(names: readonly string[]): string {
  if (names.length === 0) {
    return "";
  }
  return names.length === 1
    ? ` ${String(names[0])} stopped this page twice.`
    : ` One of these stopped this page twice: ${names.join(", ")}. Turn them off one by one.`;
}

const TITLES = {
  install: "Installing",
  update: "Updating",
  uninstall: "Removing",
  preview: "Looking at",
  forget_key: "Forgetting the key of",
  "": "Another page is changing",
} as const;

function TaskBanner({ manager, task }: ViewProps & { readonly task: Task }) {
  const name = task.name || (task.id === "" ? "a plugin" : manager.nameOf(task.id));
  if (task.outcome === "") {
    return (
      <Frame
        id="operation"
        words={
          <Fragment>
            <p class="busy">
              <strong>
                {TITLES[task.aim]} {name}
              </strong>
            </p>
            <StepLine manager={manager} task={task} />
          </Fragment>
        }
      >
        {task.cancellable ? (
          <Button
            id="cancel"
            off={task.cancelling}
            name={`Cancel: ${TITLES[task.aim]} ${name}`}
            onPress={() => void cancel(manager, task)}
          >
            Cancel
          </Button>
        ) : null}
      </Frame>
    );
  }
  return <EndedBanner manager={manager} task={task} />;
}

async function cancel(manager: Manager, task: Task): Promise<void> {
  manager.announcer.polite("Cancelling…");
  const problem = await manager.work.cancel(task.ref);
  if (problem !== undefined) {
    manager.announcer.polite(problem.words);
  }
}

function StepLine({ manager, task }: ViewProps & { readonly task: Task }) {
  useSeconds();
  const { step, stepSince, cancelling, cancellable, operation } = task;
  const asks = step === "awaiting_confirmation";
  useEffect(() => {
    if (asks) {
      manager.announcer.polite(`${stepWords(step)}.`);
    }
  }, [asks]);
  if (cancelling) {
    return <p class="dim">Cancelling…</p>;
  }
  if (manager.link.state !== "connected" && task.own) {
    return <p class="dim">It carries on. Its result will show here.</p>;
  }
  if (asks) {
    const left = ANSWER_MILLISECONDS - (Date.now() - stepSince);
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
    <p class="dim" id="operation-step" data-step={step}>
      {stepWords(step)}…{late ? " Too late to cancel." : ""}
    </p>
  );
}

function EndedBanner({ manager, task }: ViewProps & { readonly task: Task }) {
  const { outcome, problem, id, ref } = task;
  const done = outcome === "done";
  const reload = done && (manager.rows.some((row) => row.reload) || manager.isRebuilt);
  const dismiss = (
    <Button id="dismiss" kind="quiet" name="Dismiss the notice" onPress={() => manager.work.dismiss(ref)}>
      Dismiss
    </Button>
  );
  return (
    <Frame
      id="outcome"
      tone={done ? "good" : "bad"}
      urgent={!done}
      words={<p data-outcome={outcome}>{manager.outcomeWords(task)}</p>}
      more={
        problem === undefined || problem.details === "" ? null : (
          <Details>
            <p>{problem.details}</p>
          </Details>
        )
      }
    >
      {reload ? (
        <Button id="reload" kind="primary" onPress={manager.reload}>
          Reload
        </Button>
      ) : null}
      <AfterFailure manager={manager} kind={problem?.kind ?? ""} id={id} />
      {dismiss}
    </Frame>
  );
}

function AfterFailure(props: ViewProps & { readonly kind: string; readonly id: string }) {
  const { manager, kind, id } = props;
  if (kind === "moved" && id !== "") {
    return (
      <ButtonLink href={fragmentOf({ view: "plugin", id, page: "update" })}>Look again</ButtonLink>
    );
  }
  if (kind === "approval_unavailable") {
    return (
      <Button
        onPress={() =>
          void manager.questions.ask(
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

function BuildBanner({ manager }: ViewProps) {
  return (
    <Frame
      id="build-failed"
      tone="bad"
      words={<p>The page couldn't be rebuilt. It goes on as it was.</p>}
      more={
        <Details>
          <pre>{manager.buildErrors.join("\n")}</pre>
        </Details>
      }
    />
  );
}

/** Why a reload is of use; empty when it is of none. */
export function reloadWords(manager: Manager): string {
  const names = manager.rows.filter((row) => row.reload).map((row) => row.name);
  if (names.length === 0) {
    return manager.isRebuilt ? "The page was rebuilt. Reload to use it." : "";
  }
  const [first = ""] = names;
  return names.length === 1
    ? `Reload to bring ${first} up to date.`
    : `Reload to bring ${count(names.length, "plugin")} up to date.`;
}

function UpdatesBanner({ manager }: ViewProps) {
  const { updates } = manager.shelf;
  if (updates.length === 0 || manager.route.view === "plugins" || manager.route.view === "plugin") {
    return null;
  }
  return (
    <Frame id="updates-banner" words={<p>{manager.updateWords}</p>}>
      <ButtonLink href={fragmentOf({ view: "plugins" })}>See updates</ButtonLink>
    </Frame>
  );
}
