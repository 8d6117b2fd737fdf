/** Addresses of repositories, as people write them. */

/** What an address lacks, and the address that was probably meant. */
export interface Suggestion {
  readonly words: string;
  readonly url: string;
}

const NAME = "[A-Za-z0-9_.-]+";
const SHORT = new RegExp(`^(${NAME})/(${NAME})/?$`);
const OF_SSH = /^(?:ssh:\/\/)?git@([A-Za-z0-9.-]+)(?::\d+\/|[:/])(.+?)\/?$/;
const WITHOUT_SCHEME = /^([a-z0-9-]+(?:\.[a-z0-9-]+)+)(\/[^\s]+)$/i;
// Of GitHub, GitLab and Gitea, in this order.
const BRANCH = /^(https:\/\/[^/]+\/.+?)\/(?:tree|blob|-\/tree|-\/blob|src\/branch)\/.+$/;

/**
 * Suggest the address that was probably meant.
 *
 * @returns `undefined` when the address can be used as it is, or nothing comes to mind.
 */
export function suggestion(written: string): Suggestion | undefined {
  const url = written.trim();
  const branch = BRANCH.exec(url);
  if (branch?.[1] !== undefined) {
    return { words: "Only a repository's default branch works.", url: branch[1] };
  }
  const meant = meantBy(url);
  return meant === undefined ? undefined : { words: `Did you mean ${meant}?`, url: meant };
}

function meantBy(url: string): string | undefined {
  const ssh = OF_SSH.exec(url);
  if (ssh !== null) {
    return `https://${ssh[1]}/${String(ssh[2]).replace(/\.git$/, "")}`;
  }
  if (/^(?:http|git|ssh):\/\//i.test(url)) {
    return url.replace(/^[a-z]+:\/\//i, "https://");
  }
  const site = WITHOUT_SCHEME.exec(url);
  if (site !== null && url.split("/").length > 2) {
    return `https://${url}`;
  }
  const short = SHORT.exec(url);
  return short === null ? undefined : `https://github.com/${short[1]}/${short[2]}`;
}

/** A repository's host and path, to show apart: `["github.com", "/ana/bio"]`. */
export function hostAndPath(url: string): readonly [host: string, path: string] {
  const parts = /^https:\/\/([^/]+)(\/.*)?$/.exec(url);
  return parts === null ? [url, ""] : [String(parts[1]), (parts[2] ?? "").replace(/\.git$/, "")];
}

/** The address when a browser may open it in a new tab; else empty. */
export function openable(url: string): string {
  return /^https?:\/\/[^\s]+$/.test(url) ? url : "";
}
