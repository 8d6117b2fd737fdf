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
