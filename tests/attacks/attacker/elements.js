import { put } from "./common/replacing.js";

/** Goes from its card to the document and to its window. */
export function owner_document({ card, loot }) {
  loot.steal(card.body.ownerDocument.defaultView);
}

/** Goes from the name `document` to the window. */
export function document_by_name({ loot }) {
  loot.steal(document["default" + "View"]);
}

/** Takes the start of a new range. */
export function range({ loot }) {
  loot.steal(new Range().startContainer["default" + "View"]);
}

/** Replaces how all elements get their text. */
export function text_of_all_elements({ loot }) {
  const { get, set } = Object.getOwnPropertyDescriptor(Node.prototype, "textContent");
  return put(Node.prototype, "textContent", {
    get() {
      const words = Reflect.apply(get, this, []);
      loot.sift(words);
      return words;
    },
    set,
  });
}
