/** Why something failed, and what is being done, as people read it. */

import { UnansweredError } from "../link.js";

/** A failure that can be shown. */
export interface Problem {
  /** What happened and what it means, in one or two sentences. */
  readonly words: string;
  /** The daemon's own message, for those who want to know; often empty. */
  readonly details: string;
  /** The prefix or code it is about, such as `denied`. */
  readonly kind: string;
}

/** An operation that is shown; empty for any other. */
export type TaskKind = "install" | "update" | "uninstall" | "forget_key" | "";

/** What was to be done, as it begins a sentence about a failure. */
type OperationKind = TaskKind | "preview";

const NOT_DONE: { readonly [kind in OperationKind]: string } = {
  install: "Not installed",
  update: "Not updated",
  uninstall: "Not removed",
  preview: "This can't be installed",
  forget_key: "Not forgotten",
  "": "Nothing changed",
};

// By the prefix of a refusal.  `~` stands for what was not done.
const REFUSALS: { readonly [prefix: string]: string } = {
  already_installed: "You have this plugin already.",
  approval_unavailable: "This computer can't show the question. Nothing changed.",
  build_failed: "~. The page couldn't be built.",
  busy: "The bridge is busy with another plugin. Try again in a moment.",
  cancelled: "Cancelled. Nothing changed.",
  clone_failed: "The repository couldn't be downloaded.",
  denied: "Not confirmed, so nothing changed.",
  downgrade: "The repository has an older version than yours. Nothing changed.",
  invalid_id: "~. No plugin may have this id.",
  manifest_invalid: "~. Its plugin.json breaks a rule.",
  moved: "It changed since you looked. Nothing was installed.",
  no_manifest: "This isn't a plugin: the repository has no plugin.json.",
  not_cancellable: "Finishing; too late to cancel.",
  not_https: "The address has to start with https://.",
  not_installed: "This plugin isn't installed any more.",
  not_trusted: "The author's key wasn't accepted, so nothing changed.",
  policy: "~. Its code breaks the safety rules.",
  private_address: "This is on your own network, so the bridge didn't look at it.",
  reinstall_required: "It was installed without a key. Uninstall it, then install it again.",
  unsigned: "~. It isn't properly signed.",
};

const OLD_WORDS = "Update the bridge to do this.";

// By code, for everything else.
const FAILURES: { readonly [code: string]: string } = {
  aborted: "Cancelled. Nothing changed.",
  bad_request: "The bridge refused this.",
  disconnected: "The connection was lost. The bridge may still be working on it.",
  internal: "Something went wrong in the bridge. Its log has the details.",
  rate_limited: "Too much at once. Wait a moment, then try again.",
  timeout: "The bridge didn't answer in time. It may still be working on it.",
  unavailable: "The bridge can't do this now.",
  unknown_method: OLD_WORDS,
  unknown_service: OLD_WORDS,
  unsent: "Not connected. Nothing changed.",
};

// Of these it matters whether the request was sent.
const UNANSWERED = ["disconnected", "timeout"];

/** Instead of `disconnected`, once nothing is under way. */
export const OVER_WORDS = "The connection was lost. The bridge isn't working on it any more.";

// Those whose reason is of use in the first line, by prefix or code.
const REASONED: ReadonlySet<string> = new Set([
  "bad_request",
  "build_failed",
  "clone_failed",
  "invalid_id",
  "manifest_invalid",
  "policy",
  "unavailable",
  "unsigned",
]);
const REASON_CHARACTERS = 160;

/** Explain a failure; anything may have been thrown. */
export function explain(thrown: unknown, kind: OperationKind = ""): Problem {
  const { code, message } = failureOf(thrown);
  const [, prefix = "", detail = ""] = /^([a-z_]+)(?::\s*(.*))?$/s.exec(message) ?? [];
  const refusal = lookUp(REFUSALS, prefix);
  if (refusal !== undefined) {
    return withReason(refusal.replace("~", NOT_DONE[kind]), detail, prefix);
  }
  const words = lookUp(FAILURES, code);
  return words === undefined
    ? { words: "Something went wrong.", details: message, kind: code }
    : withReason(words, message, code);
}

function withReason(words: string, reason: string, kind: string): Problem {
  const lines = reason.split("\n");
  // One that announces what follows says nothing by itself.
  const first = lines.find((line) => !line.endsWith(":")) ?? "";
  if (first === "" || first.length > REASON_CHARACTERS || !REASONED.has(kind)) {
    return { words, details: reason, kind };
  }
  const [sentence, end] = [words.replace(/\.$/, ""), /[.!?]$/.test(first) ? "" : "."];
  const details = lines.length === 1 ? "" : reason;
  return { words: `${sentence}: ${first}${end}`, details, kind };
}

function failureOf(thrown: unknown): { readonly code: string; readonly message: string } {
  if (!(thrown instanceof Error)) {
    return { code: "", message: String(thrown) };
  }
  if (thrown.name === "AbortError") {
    return { code: "aborted", message: "" };
  }
  const code = "code" in thrown ? String(thrown.code) : "";
  const isUnsent = UNANSWERED.includes(code) && !(thrown instanceof UnansweredError);
  return { code: isUnsent ? "unsent" : code, message: thrown.message };
}

// What an operation is doing, by the step that the daemon names.
const STEPS: { readonly [step: string]: string } = {
  awaiting_confirmation: "Answer the question on your computer's desktop",
  clone: "Downloading",
  validate: "Reading its plugin.json",
  policy: "Checking its code",
  signature: "Checking its signature",
  compare: "Comparing it with yours",
  move: "Putting it in place",
  build: "Building the page",
  rollback: "Undoing it",
  remove: "Removing it",
};

/** What the daemon does during a step, for people. */
export function stepWords(step: string): string {
  return lookUp(STEPS, step) ?? "Working";
}

/** A time left, such as `1:58`. */
export function clock(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** A number of things: `1 plugin`, `2 plugins`. */
export function count(many: number, one: string, more = `${one}s`): string {
  return `${many} ${many === 1 ? one : more}`;
}

function lookUp<Value>(table: { readonly [name: string]: Value }, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** What is shown for what the daemon has not answered yet. */
export const WAITING_WORDS = "Waiting for the bridge.";

/** What is wrong with the connection, in a sentence. */
export const TROUBLE_WORDS = {
  absent: "The bridge isn't running. Start it, then try again.",
  lost: "Connection lost. Trying again.",
  stalled: "The bridge isn't answering. If this lasts, restart it.",
} as const;

/** A time of day, such as `14:02`. */
export function hourAndMinute(at: number): string {
  return new Date(at).toTimeString().slice(0, 5);
}

/** A day for people, such as `3 Mar 2026`. */
export function day(at: number | string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime())
    ? ""
    : date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}
