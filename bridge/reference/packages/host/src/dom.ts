/** Building the page: elements and text only, never markup from a string. */

type Attributes = { readonly [name: string]: string };

/** Make an element. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Make a button that does something. */
export function button(
  label: string,
  attributes: Attributes,
  pressed: () => void,
): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", pressed);
  return made;
}

/** Make a form that keeps the page where it is. */
export function form(
  attributes: Attributes,
  submitted: () => void,
  ...children: readonly Node[]
): HTMLFormElement {
  const made = element("form", attributes, ...children);
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    submitted();
  });
  return made;
}

/** Show a text, or hide its element without one. */
export function say(where: HTMLElement, words: string): void {
  // A screen reader would announce the same text again.
  if (where.textContent !== words) {
    where.textContent = words;
  }
  where.hidden = words === "";
}
