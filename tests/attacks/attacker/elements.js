import { put } from "./common/replacing.js";

/** Goes from its card to the document and to its window. */
export function owner_document({ card, loot }) {
  loot.steal(card.body.ownerDocument.defaultView);
}

/** Goes from the name `document` to the window. */
export function document_by_name({ loot }) {
  loot.steal(document["default" + "View"]);
}

/** Goes up from its card to the root. */
export function root_node({ card, loot }) {
  loot.steal(card.body.getRootNode()["default" + "View"]);
}

/** Goes up from its card by parents. */
export function parents({ card, loot }) {
  let node = card.body;
  while (node.parentNode) {
    node = node.parentNode;
  }
  loot.steal(node["default" + "View"]);
}

/** Takes the last of the objects that an event passes. */
export function composed_path({ card, loot }) {
  const found = [];
  card.body.addEventListener("x", (event) => found.push(...event.composedPath()));
  card.body.dispatchEvent(new Event("x", { bubbles: true }));
  loot.steal(found.at(-1));
}

/** Takes the view of a click. */
export function view_of_a_click({ card, loot }) {
  const views = [];
  card.body.addEventListener("click", ({ view }) => views.push(view));
  card.body.click();
  loot.steal(views[0]);
}

/** Takes the start of a new range. */
export function range({ loot }) {
  loot.steal(new Range().startContainer["default" + "View"]);
}

/** Takes the document of a selection. */
export function selection({ card, loot }) {
  const selected = card.body.ownerDocument.getSelection();
  selected.selectAllChildren(card.body);
  loot.steal(selected.anchorNode["owner" + "Document"]["default" + "View"]);
}

/** Takes the document of a walker. */
export function tree_walker({ card, loot }) {
  const page = card.body.ownerDocument;
  const walker = page.createTreeWalker(page);
  loot.steal(walker.root["default" + "View"]);
}

/** Takes the parent of a frame that it has added. */
export function frame({ card, loot }) {
  const made = added(card, "iframe");
  loot.steal(made.contentWindow.parent);
}

/** Evaluates text with the functions of a frame that it has added. */
export function functions_of_a_frame({ card, loot }) {
  const made = added(card, "iframe");
  loot.steal(made.contentWindow["eval"]("parent"));
}

/** Has a frame of its own text run. */
export async function frame_of_text({ card, loot }) {
  const made = card.body.ownerDocument.createElement("iframe");
  made["src" + "doc"] = "<script>parent.document.documentElement.lang = 'DEFACED'</script>";
  await loaded(card, made);
}

/** Shows another server's page in a frame. */
export async function frame_from_elsewhere({ card, elsewhere }) {
  const made = card.body.ownerDocument.createElement("iframe");
  made.src = elsewhere;
  await loaded(card, made);
}

/** Writes an element with a listener as text. */
export async function listener_in_markup({ card }) {
  const made = added(card, "div");
  made["inner" + "HTML"] = "<img src=data: onerror=\"document.documentElement.lang = 'DEFACED'\">";
  await passed();
}

/** Sets a listener as an attribute. */
export function listener_as_attribute({ card }) {
  const made = added(card, "button");
  made.setAttribute("onclick", "document.documentElement.lang = 'DEFACED'");
  made.click();
}

/** Adds a script of its own text. */
export function script_of_text({ card }) {
  const page = card.body.ownerDocument;
  const made = page.createElement.call(page, ["script"][0]);
  made.textContent = "document.documentElement.lang = 'DEFACED'";
  card.body.append(made);
}

/** Adds a script of another server. */
export async function script_from_elsewhere({ card, elsewhere }) {
  const page = card.body.ownerDocument;
  const made = page.createElement.bind(page)(["scr", "ipt"].join(""));
  made.src = `${elsewhere}.js`;
  await loaded(card, made);
}

/** Adds an image to its card. */
export async function image({ card, elsewhere }) {
  const made = card.body.ownerDocument.createElement("img");
  made.src = elsewhere;
  await loaded(card, made);
}

/** Changes the address of an image by its attribute's node. */
export async function attribute_node({ card, elsewhere }) {
  const made = added(card, "img");
  made.setAttribute("src", "data:,");
  made.attributes[0].value = elsewhere;
  await passed();
}

/** Draws an image of another server in a drawing. */
export async function image_in_a_drawing({ card, elsewhere }) {
  const made = added(card, "div");
  made["inner" + "HTML"] = `<svg><image href="${elsewhere}"></image></svg>`;
  await passed();
}

/** Sets a background from another server. */
export async function background({ card, elsewhere }) {
  card.body.style.backgroundImage = `url(${elsewhere})`;
  await passed();
}

/** Animates to a background from another server. */
export async function animation({ card, elsewhere }) {
  const background = [`url(${elsewhere})`, `url(${elsewhere})`];
  card.body.animate({ backgroundImage: background }, 1000);
  await passed();
}

/** Adds a style sheet of its own text, with an image from another server. */
export async function style_of_text({ card, elsewhere }) {
  added(card, "style").textContent = `div { background: url(${elsewhere}) }`;
  await passed();
}

/** Adds a style sheet from another server. */
export async function style_from_elsewhere({ card, elsewhere }) {
  const made = card.body.ownerDocument.createElement("link");
  made.rel = "stylesheet";
  made.href = elsewhere;
  await loaded(card, made);
}

/** Adds a rule to the page's own style sheet. */
export async function rule_of_the_page({ card, elsewhere }) {
  const [sheet] = card.body.ownerDocument.styleSheets;
  const rule = `body { background: url(${elsewhere}) !important }`;
  const at = sheet.insertRule(rule, sheet.cssRules.length);
  await passed();
  return () => sheet.deleteRule(at);
}

/** Has the browser fetch a page that may be needed. */
export async function prefetch({ card, elsewhere }) {
  const made = added(card, "link");
  made.rel = "prefetch";
  made.href = elsewhere;
  await passed();
}

/** Embeds an object from another server. */
export async function embedded({ card, elsewhere }) {
  const made = card.body.ownerDocument.createElement("object");
  made.data = elsewhere;
  await loaded(card, made);
}

/** Defines an element of its own, and takes its document. */
export function own_element({ card, loot }) {
  const page = card.body.ownerDocument;
  page["default" + "View"].customElements.define(
    "own-element",
    class extends HTMLElement {
      connectedCallback() {
        loot.steal(this["owner" + "Document"]["default" + "View"]);
      }
    },
  );
  added(card, "own-element");
}

/** Changes an attribute of the page's root. */
export function root_of_the_page({ card }) {
  card.body.ownerDocument.documentElement.lang = "DEFACED";
}

/** Changes a heading of the host's. */
export async function heading_of_the_host({ card }) {
  for (const heading of card.body.ownerDocument.querySelectorAll("h1, h2")) {
    heading.textContent = "DEFACED";
  }
}

/** Reads the card of another plugin. */
export async function card_of_another({ card, loot }) {
  await passed();
  loot.take(card.body.closest("#plugin-cards").textContent);
}

/** Watches the page for what others show. */
export async function observer({ card, loot }) {
  const cards = card.body.closest("#plugin-cards");
  const other = cards.querySelector('[data-testid="plugin-cards-victim"]');
  const watched = { childList: true, subtree: true };
  const observing = new MutationObserver(() => loot.sift(other.textContent));
  observing.observe(other, watched);
  await passed();
  return () => observing.disconnect();
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

/** Replaces how all sockets send, through the window. */
export async function socket_of_the_page({ card, ctx, loot }) {
  const page = card.body.ownerDocument["default" + "View"];
  const sockets = page.WebSocket.prototype;
  const { send } = sockets;
  const value = function (frame) {
    loot.sift(frame);
    Reflect.apply(send, this, [frame]);
  };
  const undo = put(sockets, "send", { value, writable: true });
  await ctx.settings.set("moment", 1);
  return undo;
}

function added({ body }, tag) {
  const made = body.ownerDocument.createElement(tag);
  body.append(made);
  return made;
}

// It is added once it can be seen whether it loads.
function loaded({ body }, made) {
  return new Promise((resolve) => {
    made.onload = resolve;
    made.onerror = resolve;
    setTimeout(resolve, 200);
    body.append(made);
  });
}

function passed() {
  return new Promise((resolve) => setTimeout(resolve, 80));
}
