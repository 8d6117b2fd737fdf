/** Passes `self` to a function that takes from it. */
export function self_as_argument({ loot }) {
  ((page) => loot.steal(page))(self);
}

/** Takes `globalThis` apart in a declaration. */
export function global_taken_apart({ loot }) {
  const { document: page, localStorage: store } = globalThis;
  loot.steal({ document: page, localStorage: store });
}

/** Uses `self` as the default of a parameter. */
export function default_of_a_parameter({ loot }) {
  const take = (page = self) => loot.steal(page);
  take();
}

/** Writes `self` as a shorthand property. */
export function shorthand_property({ loot }) {
  loot.steal({ self }.self);
}

/** Spells `self` with an escape. */
export function escaped_name({ loot }) {
  loot.steal(\u0073elf);
}

/** Reads the page through `frames`. */
export function frames_by_name({ loot }) {
  loot.steal(frames);
}

/** Reads the page through `top`. */
export function top_by_name({ loot }) {
  loot.steal(top);
}

/** Reads the cookie of a document that it keeps in an array. */
export function document_in_an_array({ loot }) {
  loot.take([document][0].cookie);
}

/** Reads the token from the page's storage, with a computed member. */
export function storage_by_name({ loot }) {
  loot.take(localStorage[["plugin-bridge", "token"].join(".")]);
}

/** Reads all cookies from `cookieStore`. */
export async function cookie_store({ loot }) {
  loot.take(await cookieStore.getAll());
}

/** Uses the name that the page's element with the id `host` has in every script. */
export function element_by_its_id({ loot }) {
  loot.steal(host.ownerDocument.defaultView);
}

/** Yields `self` from a generator. */
export function yielded({ loot }) {
  const [page] = (function* () {
    yield self;
  })();
  loot.steal(page);
}
