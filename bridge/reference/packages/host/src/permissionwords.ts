/**
 * The permissions in words for people.
 *
 * The daemon's prompts use the same words; a test compares the two tables.
 */

/** One permission, as a person reads it. */
export interface PermissionWords {
  /** What it lets the plugin do; fits after "Let Bio". */
  readonly label: string;
  /** What that means for the user. */
  readonly meaning: string;
  /** Whether to list it first, with a warning. */
  readonly risky: boolean;
}

/** The sentence below a list of permissions. */
export const PERMISSIONS_FOOT = "The page checks these. Install only what you trust.";

const LIKE_THE_APPS = "they can look like the app's own";

/** Every permission of the reference profile. */
export const PERMISSION_WORDS: ReadonlyMap<string, PermissionWords> = new Map([
  [
    "host:events",
    words("See what the app does", "receives the named events; some hold personal details"),
  ],
  [
    "host:actions",
    risk("Act in the app", "does the named things as if you clicked, even signing in"),
  ],
  ["host:intercept", risk("Change what the app does", "can alter or block actions")],
  ["network", risk("Go online", "can send what it knows to sites you allow")],
  ["notifications", words("Show messages in the app", "can distract you")],
  ["native", words("Show desktop and VR notifications", "can cover your view in the headset")],
  ["osc", risk("Control your avatar", "sees and changes its parameters through this computer")],
  ["sql", risk("Read the app's saved data", "all of it, but it can't change it")],
  ["gamelog", risk("Read the game log", "sees where you were and whom you met")],
  ["vrchat", risk("Use your VRChat session", "sees what your account sees, such as friends")],
  ["context-menu", words("Add menu entries", LIKE_THE_APPS)],
  ["routes", words("Add pages", LIKE_THE_APPS)],
  [
    "clipboard",
    risk("Use the clipboard", "reads what you copied, passwords too, and can replace it"),
  ],
]);

// What a target adds to the words of its permission, where one is not enough.
const TARGETS: ReadonlyMap<string, string> = new Map([
  ["native notify/targets", "see where notifications can be shown"],
]);

/** Return the words of a permission; one that is unknown is described by its id. */
export function wordsOf(permission: string): PermissionWords {
  return PERMISSION_WORDS.get(permission) ?? risk(permission, "this page does not know it");
}

/**
 * Describe a use of a permission, to follow "Let Bio".
 *
 * @param target What is done with it: a host, a method, or `*`.
 */
export function useOf(permission: string, target: string): string {
  const { label } = wordsOf(permission);
  const use = TARGETS.get(`${permission} ${target}`);
  const verb = use ?? label.charAt(0).toLowerCase() + label.slice(1);
  return permission === "network" ? `${verb} to ${target}` : verb;
}

/** The permissions that need attention first; each group in the order it came. */
export function riskyFirst(permissions: readonly string[]): readonly string[] {
  const rank = (permission: string): number => (wordsOf(permission).risky ? 0 : 1);
  return [...permissions].sort((one, other) => rank(one) - rank(other));
}

function words(label: string, meaning: string, risky = false): PermissionWords {
  return { label, meaning, risky };
}

function risk(label: string, meaning: string): PermissionWords {
  return words(label, meaning, true);
}
