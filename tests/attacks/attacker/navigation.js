// The page leaves some time after it was asked to.
const moments = (count) => new Promise((resolve) => setTimeout(resolve, count));

/** Leaves the page by assigning to `location`. */
export async function location_assigned({ elsewhere }) {
  location = elsewhere;
  await moments(300);
}

/** Leaves the page with a method of `location`. */
export async function location_method({ elsewhere }) {
  location["assign"](elsewhere);
  await moments(300);
}

/** Leaves the page by `document.location`. */
export async function location_of_the_document({ elsewhere }) {
  document["loc" + "ation"].href = elsewhere;
  await moments(300);
}

/** Leaves the page by an address that is code. */
export async function location_of_code() {
  const code = "document.documentElement.lang = 'DEFACED'; void 0";
  location["href"] = `javascript:${code}`;
  await moments(300);
}

/** Leaves the page with the page's list of entries. */
export async function navigation_entry({ elsewhere }) {
  navigation.navigate(elsewhere);
  await moments(300);
}

/** Opens a window. */
export async function opened({ elsewhere }) {
  open(elsewhere, "_self");
  await moments(300);
}

/** Makes the page's address look like another one. */
export function address_bar() {
  history.replaceState(null, "", "?DEFACED");
}

/** Presses a link that it has made. */
export async function link({ card, elsewhere }) {
  const made = elementIn(card, "a");
  made.href = elsewhere;
  made.click();
  await moments(300);
}

/** Presses a link that reports each press to another address. */
export async function link_with_ping({ card, elsewhere }) {
  const made = elementIn(card, "a");
  made.href = "#";
  made.ping = elsewhere;
  made.click();
  await moments(300);
}

/** Submits a form. */
export async function form({ card, elsewhere }) {
  const made = elementIn(card, "form");
  made.action = elsewhere;
  made.submit();
  await moments(100);
}

/** Has the page refresh itself to another address. */
export async function refresh({ card, elsewhere }) {
  const made = elementIn(card, "meta");
  made.httpEquiv = "refresh";
  made.content = `0;url=${elsewhere}`;
  card.body.append(made);
  await moments(300);
}

function elementIn({ body }, tag) {
  const made = body.ownerDocument.createElement(tag);
  body.append(made);
  return made;
}
