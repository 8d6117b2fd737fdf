/** @jsx h */
/** What a plugin may do, in words. */

import { type ComponentChildren, h } from "preact";

import type { Entry } from "../model/entries.js";
import { PERMISSIONS_FOOT, wordsOf } from "../permissionwords.js";

/** The permissions that need attention first; each group in the order it came. */
export function riskyFirst(permissions: readonly string[]): readonly string[] {
  const rank = (permission: string): number => (wordsOf(permission).risky ? 0 : 1);
  return [...permissions].sort((one, other) => rank(one) - rank(other));
}

/** One permission: what it lets a plugin do, what that means, and what it is about. */
export function Want(props: {
  readonly permission: string;
  readonly names?: readonly string[];
  readonly children?: ComponentChildren;
}) {
  const names = props.names ?? [];
  const words = wordsOf(props.permission);
  return (
    <li class="want" data-risky={words.risky} data-permission={props.permission}>
      <p>
        {words.risky ? <span class="mark" role="img" aria-label="Important" /> : null}
        <strong>{words.label}</strong>: {words.meaning}.
      </p>
      {names.length === 0 ? null : (
        <p class="names">
          {names.map((name) => (
            <code key={name}>{name}</code>
          ))}
        </p>
      )}
      {props.children}
    </li>
  );
}

/** What of a manifest a permission is about. */
export function namesUnder(permission: string, entry: Entry): readonly string[] {
  switch (permission) {
    case "network":
      return entry.hosts;
    case "host:events":
      return entry.events;
    case "host:actions":
      return entry.actions;
    default:
      return [];
  }
}

/** All that a plugin asks for. */
export function Wants({ entry }: { readonly entry: Entry }) {
  const { permissions, optionalPermissions } = entry;
  if (permissions.length + optionalPermissions.length === 0) {
    return <p>It asks for no permission.</p>;
  }
  return (
    <div class="stack tight">
      <WantList title="Needed" entry={entry} permissions={permissions} />
      <WantList title="When used" entry={entry} permissions={optionalPermissions} />
      <p class="dim small">{PERMISSIONS_FOOT}</p>
    </div>
  );
}

function WantList(props: {
  readonly title: string;
  readonly entry: Entry;
  readonly permissions: readonly string[];
}) {
  if (props.permissions.length === 0) {
    return null;
  }
  return (
    <div class="stack tight">
      <h3>{props.title}</h3>
      <ul class="wants">
        {riskyFirst(props.permissions).map((permission) => (
          <Want
            key={permission}
            permission={permission}
            names={namesUnder(permission, props.entry)}
          />
        ))}
      </ul>
    </div>
  );
}
