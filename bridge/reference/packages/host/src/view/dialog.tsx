/** @jsx h */
import { h } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { Questions } from "../model/questions.js";
import { Button, useChanges } from "./parts.js";

/** The question that is asked now; closing it means no. */
export function Dialog({ questions }: { readonly questions: Questions }) {
  useChanges(questions.changed);
  const question = questions.current;
  const dialog = useRef<HTMLDialogElement>(null);
  const opener = useRef<Element | null>(null);
  useEffect(() => {
    if (question === undefined) {
      return;
    }
    opener.current = document.activeElement;
    dialog.current?.showModal();
  }, [question]);
  const answer = (yes: boolean): void => {
    dialog.current?.close();
    questions.answer(yes);
  };
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
    >
      {question === undefined ? null : (
        <div class="stack">
          <h2 id="question-title">{question.title}</h2>
          <p id="question-detail">{question.detail}</p>
          <div class="actions end">
            <Button id="question-no" onPress={() => answer(false)}>
              {question.no}
            </Button>
            <Button
              id="question-yes"
              kind={question.danger ? "danger" : "primary"}
              onPress={() => answer(true)}
            >
              {question.yes}
            </Button>
          </div>
        </div>
      )}
    </dialog>
  );
}
