/** @jsx h */
/** What a plugin may do, in words. */

import { type ComponentChildren, h } from "preact";

import type { Manifest } from "../manifest.js";
import { PERMISSIONS_FOOT, riskyFirst, wordsOf } from "../permissionwords.js";
import { Group } from "./parts.js";

/** One permission: what it lets a plugin do, what that means, and what it is about. */
export function Want(props: {
  readonly permission: string;
  readonly names?: readonly string[];
  readonly children?: ComponentChildren;
}) {
  const words = wordsOf(props.permission);
  return (
    <li class="want" data-risky={words.risky}>
      <p>
        {words.risky ? <span class="mark" role="img" aria-label="Important" /> : null}
        <strong>{words.label}</strong>: {words.meaning}.
      </p>
      <Names names={props.names ?? []} />
      {props.children}
    </li>
  );
}

/** What a permission is about; nothing when that is nothing. */
export function Names({ names }: { readonly names: readonly string[] }) {
  return names.length === 0 ? null : (
    <p class="names">
      {names.map((name) => (
        <code key={name}>{name}</code>
      ))}
    </p>
  );
}

type Asking = Pick<
  Manifest,
  "permissions" | "optionalPermissions" | "hosts" | "events" | "actions"
>;

interface WantsProps {
  readonly manifest: Asking;
  /** What is shown below a permission. */
  readonly more?: (permission: string) => ComponentChildren;
}

/** All that a plugin asks for. */
export function Wants({ manifest, more }: WantsProps) {
  const { permissions, optionalPermissions } = manifest;
  if (permissions.length + optionalPermissions.length === 0) {
    return <p>It asks for no permission.</p>;
  }
  const group = (title: string, those: readonly string[]) =>
    those.length === 0 ? null : (
      <Group title={title}>
        <ul class="stack tight">
          {riskyFirst(those).map((permission) => (
            <Want key={permission} permission={permission} names={namesUnder(permission, manifest)}>
              {more?.(permission)}
            </Want>
          ))}
        </ul>
      </Group>
    );
  return (
    <div class="stack">
      {group("Needed", permissions)}
      {group("When used", optionalPermissions)}
      <p class="dim small">{PERMISSIONS_FOOT}</p>
    </div>
  );
}

/** What of a manifest a permission is about. */
function namesUnder(permission: string, manifest: Asking): readonly string[] {
  switch (permission) {
    case "network":
      return manifest.hosts;
    case "host:events":
      return manifest.events;
    case "host:actions":
      return manifest.actions;
    default:
      return [];
  }
}
