/** Names of plugins, as they are shown: others have chosen them. */

const MOST_CHARACTERS = 60;
// What the page and the daemon are called.
const OWN_NAMES = ["host", "bridge", "plugin bridge", "the bridge", "home", "log", "settings"];
const FROM_RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Bidi_Control}]/u;

// What the page quotes a name with, and what looks like it.
const QUOTES = /["\u201c-\u201f\u00ab\u00bb\u2033\uff02\u301d-\u301f]/gu;

// More would be drawn over the lines around; a letter of Burmese has four, and spacing marks.
const MARKS = /((?:[\p{Mn}\p{Me}][\p{Mc}\u200c\u200d]*){4})[\p{M}\u200c\u200d]+/gu;

// As people count: 2 before 10.
export const ORDER = new Intl.Collator(undefined, { numeric: true });

export interface Named {
  readonly id: string;
  readonly name: string;
}

/** A name that is no text of its own, and turns nothing of a sentence that it is part of. */
export function shownName(name: string): string {
  const characters = [...name.trim().replace(QUOTES, "'").replace(MARKS, "$1")];
  const cut = characters.slice(0, MOST_CHARACTERS).join("").trim();
  const short = characters.length > MOST_CHARACTERS ? `${cut}…` : cut;
  return FROM_RIGHT_TO_LEFT.test(short) ? `\u2068${short}\u2069` : short;
}

/** A shown name as an element has it that has nothing else: it begins on the name's side. */
export function alone(name: string): string {
  return name.replace(/^\u2068([^\u2068\u2069]*)\u2069$/u, "$1");
}

/** The names of plugins by id; one that another or the host has is shown with its id. */
export function shownNames(plugins: readonly Named[]): ReadonlyMap<string, string> {
  const owners = new Map<string, Set<string>>();
  const claim = (name: string, owner: string): void => {
    const seen = seenAs(name);
    owners.set(seen, (owners.get(seen) ?? new Set()).add(owner));
  };
  OWN_NAMES.forEach((name) => claim(name, ""));
  for (const { id, name } of plugins) {
    claim(shownName(name), id);
    claim(id, id);
  }
  return new Map(
    plugins.map(({ id, name }) => {
      const shown = shownName(name);
      const isShared = (owners.get(seenAs(shown))?.size ?? 0) > 1;
      return [id, isShared ? `${shown} (${id})` : shown];
    }),
  );
}

// Names that differ in less look the same.
function seenAs(name: string): string {
  return name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[\s\p{P}\p{S}\p{M}\p{C}]+/gu, "");
}
