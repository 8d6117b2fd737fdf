/** @jsx h */
import { Fragment, h } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import type { PageModel } from "../model/model.js";
import type { Question } from "../model/questions.js";
import type { ViewProps } from "./app.js";
import { Button, Details } from "./parts.js";
import { Fingerprint } from "./plugin.js";

/** The question that is asked now; each is drawn as a dialog of its own. */
export function Dialog({ model }: ViewProps) {
  const { questions } = model;
  const question = questions.current;
  const numbers = useRef({ question, number: 0 });
  if (numbers.current.question !== question) {
    numbers.current = { question, number: numbers.current.number + 1 };
  }
  return question === undefined ? null : (
    <QuestionDialog key={numbers.current.number} model={model} question={question} />
  );
}

interface QuestionProps extends ViewProps {
  readonly question: Question;
}

// What may bring the dialog below a pointer that is pressed already.
const MOVES = ["focus", "resize"] as const;

function QuestionDialog({ model, question }: QuestionProps) {
  const { questions } = model;
  const dialog = useRef<HTMLDialogElement>(null);
  // Before it is taken away: closing gives the focus back.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    shown?.querySelector<HTMLElement>(question.no === "" ? "#question-yes" : "#question-no")?.focus();
    return () => shown?.close();
  }, []);
  useEffect(() => {
    const moved = (): void => questions.shown();
    moved();
    MOVES.forEach((event) => window.addEventListener(event, moved));
    return () => MOVES.forEach((event) => window.removeEventListener(event, moved));
  }, []);
  const off = !questions.isReadable;
  const answer = (yes: boolean): boolean => questions.answer(question, yes);
  return (
    <dialog
      id="question"
      ref={dialog}
      aria-labelledby="question-title"
      aria-describedby="question-detail"
      onCancel={(event) => {
        event.preventDefault();
        answer(false);
      }}
      onClose={() => {
        // Browsers close it without asking when Escape is pressed twice. One that is drawn no
        // more was closed by the page, which is no answer.
        if (dialog.current !== null && questions.current === question && !answer(false)) {
          dialog.current.showModal();
        }
      }}
    >
      <div class="stack">
        <h2 id="question-title">{question.title}</h2>
        <p id="question-detail">{question.detail}</p>
        {question.plugin === "" ? null : <WhoAsks model={model} id={question.plugin} />}
        <div class="actions end">
          {question.no === "" ? null : (
            <Button id="question-no" off={off} onPress={() => answer(false)}>
              {question.no}
            </Button>
          )}
          <Button
            id="question-yes"
            kind={question.danger ? "danger" : "primary"}
            off={off}
            onPress={() => answer(true)}
          >
            {question.yes}
          </Button>
        </div>
        {question.plugin === "" ? null : (
          <div class="actions end">
            <Button
              id="question-off"
              kind="quiet"
              off={off}
              onPress={() => answer(false) && void model.setEnabled(question.plugin, false)}
            >
              Turn off {question.name}
            </Button>
          </div>
        )}
      </div>
    </dialog>
  );
}

function WhoAsks({ model, id }: { readonly model: PageModel; readonly id: string }) {
  const keyId = model.catalog.find(id)?.keyId ?? "";
  return (
    <Fragment>
      <p class="dim" id="question-plugin">
        The plugin <code>{id}</code> asks.
      </p>
      {keyId === "" ? null : (
        <Details summary="Its author's key" id="question-key">
          <Fingerprint model={model} keyId={keyId} />
        </Details>
      )}
    </Fragment>
  );
}
