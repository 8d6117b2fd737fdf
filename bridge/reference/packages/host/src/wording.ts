import { BridgeError } from "@bridge/plugin-api";

import { describe } from "./log.js";

interface Wording {
  readonly sentence: string;
  /** Whether the daemon's text after the prefix helps a person. */
  readonly detailed: boolean;
}

function fixed(sentence: string): Wording {
  return { sentence, detailed: false };
}

function detailed(sentence: string): Wording {
  return { sentence, detailed: true };
}

// By what the message of a refused plugin operation starts with.
const REFUSALS: { readonly [prefix: string]: Wording } = {
  not_https: detailed("This is not an https:// address of a repository."),
  denied: fixed("You did not confirm it on the desktop."),
  approval_unavailable: fixed(
    "The daemon could not ask on the desktop, so it refused. " +
      "Is a notification service running there?",
  ),
  clone_failed: detailed("The repository could not be fetched."),
  no_manifest: fixed("The repository is not a plugin: it has no plugin.json at its root."),
  manifest_invalid: detailed("The plugin.json breaks a rule."),
  policy: detailed("The plugin's source breaks the source policy."),
  unsigned: detailed("The plugin is not properly signed."),
  already_installed: fixed("This plugin is already installed."),
  not_installed: fixed("This plugin is not installed."),
  not_trusted: fixed("You did not accept the author's key on the desktop."),
  invalid_id: detailed("The plugin's id breaks a rule."),
  downgrade: detailed("The repository has an older version than the installed one."),
  build_failed: detailed("The page could not be built with this plugin."),
  reinstall_required: fixed("No signing key is recorded. Uninstall the plugin, then install it again."),
};

// By code, for everything else.
const FAILURES: { readonly [code: string]: Wording } = {
  timeout: fixed("The daemon did not answer in time. It may still be working."),
  disconnected: fixed("The connection closed. The daemon may still be working."),
  rate_limited: fixed("Too many requests at once. Wait a moment and try again."),
  unknown_service: fixed("This daemon has no such service."),
  unknown_method: fixed("This daemon cannot do that."),
  internal: fixed("Something went wrong in the daemon. Its log has the details."),
};

/** Why an operation failed, in plain words. */
export function inPlainWords(error: unknown): string {
  if (!(error instanceof BridgeError)) {
    return describe(error);
  }
  const [, prefix = "", detail = ""] = /^([a-z_]+)(?::\s*(.*))?$/s.exec(error.message) ?? [];
  const wording = lookUp(REFUSALS, prefix) ?? lookUp(FAILURES, error.code);
  if (wording === undefined) {
    return error.message;
  }
  return wording.detailed && detail !== ""
    ? `${wording.sentence} (${detail})`
    : wording.sentence;
}

// What an operation is doing, by the step the daemon names.
const STEPS: { readonly [step: string]: string } = {
  awaiting_confirmation: "confirm on your desktop",
  clone: "fetching the repository",
  validate: "reading the manifest",
  policy: "checking the source",
  signature: "checking the signature",
  move: "putting it in place",
  build: "building the page",
  rollback: "undoing it",
  remove: "removing it",
};

/** The name of a step for a person. */
export function stepName(step: string): string {
  return lookUp(STEPS, step) ?? step;
}

function lookUp<Value>(
  table: { readonly [name: string]: Value },
  name: string,
): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
