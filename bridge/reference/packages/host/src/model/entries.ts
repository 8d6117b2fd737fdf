import { fields, list, text, texts } from "../wire.js";

/** What a plugin declares and what is recorded of it, as the daemon lists it. */
export interface Entry {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly author: string;
  readonly homepage: string;
  readonly tags: readonly string[];
  readonly permissions: readonly string[];
  readonly optionalPermissions: readonly string[];
  readonly actions: readonly string[];
  readonly events: readonly string[];
  readonly hosts: readonly string[];
  readonly url: string;
  readonly commit: string;
  /** ISO 8601, as are all times of an entry. */
  readonly installedAt: string;
  readonly updatedAt: string;
  readonly keyId: string;
  /** Whether it is a directory that its author works on. */
  readonly dev: boolean;
  /** Why it is not in the bundle; empty when it is. */
  readonly leftOut: string;
}

/** Read a list entry or a manifest; what is missing is empty. */
export function readEntry(value: unknown, leftOut = ""): Entry {
  const entry = fields(value);
  const id = text(entry["id"]);
  return {
    id,
    name: text(entry["name"]) || id,
    version: text(entry["version"]),
    description: text(entry["description"]),
    author: text(entry["author"]),
    homepage: text(entry["homepage"]),
    tags: texts(entry["tags"]),
    permissions: texts(entry["permissions"]),
    optionalPermissions: texts(entry["optionalPermissions"]),
    actions: texts(entry["actions"]),
    events: texts(entry["events"]),
    hosts: texts(entry["hosts"]),
    url: text(entry["url"]),
    commit: text(entry["commit"]),
    installedAt: text(entry["installedAt"]),
    updatedAt: text(entry["updatedAt"]),
    keyId: text(entry["keyId"]),
    dev: entry["dev"] === true,
    leftOut,
  };
}

/**
 * Read the result of `plugins/list`, or the data of a `plugins` push.
 *
 * A plugin that is left out of the bundle is usually in both of the daemon's lists; here
 * it is one entry.
 */
export function readEntries(data: unknown): readonly Entry[] {
  const { plugins, broken } = fields(data);
  const reasons = new Map(
    list(broken)
      .map(fields)
      .map(({ id, reason }) => [text(id), text(reason, "it cannot be used")]),
  );
  const entries = new Map<string, Entry>();
  for (const plugin of list(plugins)) {
    const id = text(fields(plugin)["id"]);
    entries.set(id, readEntry(plugin, reasons.get(id)));
  }
  for (const [id, reason] of reasons) {
    if (!entries.has(id)) {
      entries.set(id, readEntry({ id }, reason));
    }
  }
  entries.delete("");
  return [...entries.values()];
}

/** What is new in an update. */
export interface Changelog {
  /** What its author writes about it; empty when that is nothing. */
  readonly notes: string;
  /** How many commits; a lower bound once it reaches 50. */
  readonly behind: number;
  /** The newest first. */
  readonly commits: readonly { readonly day: string; readonly summary: string }[];
}

function readCommits(value: unknown): Changelog["commits"] {
  return list(value).map(fields).map((commit) => ({
    day: text(commit["time"]).slice(0, 10),
    summary: text(commit["summary"]),
  }));
}

/** An update that the daemon found. */
export interface Update {
  readonly id: string;
  /** The commit that it leads to. */
  readonly latest: string;
}

/** What the daemon knows of updates; what is in no list is up to date. */
export interface Outdated {
  readonly updates: readonly Update[];
  /** The ids of plugins whose repositories could not be looked at. */
  readonly unknown: readonly string[];
  /** The ids of those that have not answered yet. */
  readonly pending: readonly string[];
}

/** Read the result of `plugins/check_updates`. */
export function readOutdated(data: unknown): Outdated {
  const { updates, unknown, pending } = fields(data);
  return {
    updates: list(updates).map(fields).map((entry) => ({
      id: text(entry["id"]),
      latest: text(entry["latest"]),
    })),
    unknown: list(unknown).map((entry) => text(fields(entry)["id"])),
    pending: texts(pending),
  };
}

/** A key of an author that was accepted. */
export interface Key {
  readonly keyId: string;
  /** Milliseconds since the epoch. */
  readonly trustedAt: number;
  /** The ids of the installed plugins that it signed. */
  readonly installed: readonly string[];
  /** The ids of all plugins that it ever signed here. */
  readonly seenFor: readonly string[];
}

/** Read the result of `plugins/keys`. */
export function readKeys(data: unknown): readonly Key[] {
  return list(fields(data)["keys"]).map(fields).map((key) => ({
    keyId: text(key["keyId"]),
    trustedAt: Number(key["trustedAt"]) || 0,
    installed: texts(key["installed"]),
    seenFor: texts(key["seenFor"]),
  }));
}

/** What an update adds or removes, by kind. */
export type Changes = {
  readonly [kind in (typeof KINDS)[number]]: {
    readonly gained: readonly string[];
    readonly lost: readonly string[];
  };
};

const KINDS = ["permissions", "optionalPermissions", "hosts", "actions", "events"] as const;

/** What a plugin shows of itself before it runs. */
export interface About {
  /** The beginning of its README, as text. */
  readonly readme: string;
  /** The address of its icon, with the picture in it; empty when it has none. */
  readonly icon: string;
}

/** Read the result of `plugins/about`. */
export function readAbout(data: unknown): About {
  const { readme, icon } = fields(data);
  const base64 = text(icon);
  const isUsable = /^[A-Za-z0-9+/]+=*$/.test(base64);
  return { readme: text(readme), icon: isUsable ? `data:image/png;base64,${base64}` : "" };
}

/** What `plugins/preview` found. */
export interface Preview {
  readonly url: string;
  readonly commit: string;
  readonly digest: string;
  readonly manifest: Entry;
  readonly about: About;
  readonly keyId: string;
  readonly trusted: boolean;
  /** Milliseconds since the epoch; 0 when the key is not trusted. */
  readonly trustedAt: number;
  /** The installed version and commit; `undefined` when it is not installed. */
  readonly installed: { readonly version: string; readonly commit: string } | undefined;
  readonly changes: Changes;
  readonly changelog: Changelog;
}

/** Read the result of `plugins/preview`. */
export function readPreview(data: unknown): Preview {
  const found = fields(data);
  const key = fields(found["key"]);
  const installed = found["installed"];
  const has = typeof installed === "object" && installed !== null;
  return {
    url: text(found["url"]),
    commit: text(found["commit"]),
    digest: text(found["digest"]),
    manifest: readEntry(found["manifest"]),
    about: readAbout(found["about"]),
    keyId: text(key["keyId"]),
    trusted: key["trusted"] === true,
    trustedAt: Number(key["trustedAt"]) || 0,
    installed: has
      ? { version: text(fields(installed)["version"]), commit: text(fields(installed)["commit"]) }
      : undefined,
    changes: readChanges(found["changes"]),
    changelog: readChangelog(found["changelog"]),
  };
}

function readChangelog(value: unknown): Changelog {
  const { notes, commits } = fields(value);
  return { notes: text(notes), behind: list(commits).length, commits: readCommits(commits) };
}

function readChanges(value: unknown): Changes {
  const changes = fields(value);
  const of = (kind: string): { gained: readonly string[]; lost: readonly string[] } => {
    const { gained, lost } = fields(changes[kind]);
    return { gained: texts(gained), lost: texts(lost) };
  };
  return {
    permissions: of("permissions"),
    optionalPermissions: of("optionalPermissions"),
    hosts: of("hosts"),
    actions: of("actions"),
    events: of("events"),
  };
}

/** Whether an update asks for more than the installed version. */
export function gains(changes: Changes): boolean {
  return KINDS.some((kind) => changes[kind].gained.length > 0);
}
