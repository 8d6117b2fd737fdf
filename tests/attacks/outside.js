/**
 * Watches a page from a world of its own, where nothing that the page changes is seen.
 *
 * The suite replaces the word in the first line by what the page finds in its browser.
 */
((fixture) => {
  const ROUNDS = 5;
  const roomOf = (id) => document.querySelector(`[data-testid="plugin-cards-${id}"]`);
  const textOf = (id) => roomOf(id)?.textContent ?? "";
  const roundOf = () => Number(/ round (\d+)$/.exec(textOf("victim"))?.[1] ?? 0);

  if (self !== top || location.origin !== fixture.origin) {
    return;
  }
  // Once for each page: what an attack leaves there lasts over a reload.
  if (sessionStorage.getItem("page") !== location.search) {
    localStorage.clear();
    sessionStorage.clear();
    sessionStorage.setItem("page", location.search);
    localStorage.setItem("plugin-bridge.endpoint", fixture.endpoint);
    localStorage.setItem("plugin-bridge.token", fixture.token);
    document.cookie = `kept=${fixture.cookie}; path=/`;
  }

  const bodyOf = (id) => roomOf(id).querySelector(".body");
  const notes = new Set();
  let own;
  let from = 0;

  /** Have the attacker begin; nothing that was noted before counts. */
  globalThis.begin = (attack) => {
    const field = roomOf("attacker").querySelector("input");
    notes.clear();
    from = 0;
    // How the one before has ended must not be taken for the end of this one.
    bodyOf("attacker").querySelectorAll("p").forEach((shown) => shown.replaceChildren());
    field.value = attack;
    field.dispatchEvent(new Event("change"));
  };

  /** Nothing more is expected of the attacker: its own realm may be what it broke. */
  globalThis.given_up = () => {
    from ||= roundOf();
  };

  /** Return what can be seen of the page. */
  globalThis.look = () => {
    const page = document.documentElement.cloneNode(true);
    page.querySelector('[data-testid="plugin-cards-attacker"]')?.remove();
    return {
      taken: textOf("attacker"),
      parts: roomOf("attacker")?.querySelectorAll("*").length ?? 0,
      defaced: `${location.href} ${page.outerHTML}`.includes("DEFACED"),
    };
  };

  /** Remove what the attacker has added to its card, and the mark of the page. */
  globalThis.clean = () => {
    const body = bodyOf("attacker");
    for (const part of [...body.children]) {
      if (!own.has(part)) {
        part.remove();
      }
    }
    body.removeAttribute("style");
    for (const one of body.getAnimations()) {
      one.cancel();
    }
    document.documentElement.lang = "en";
  };

  const note = (what) => {
    if (!notes.has(what)) {
      notes.add(what);
      globalThis.noted(what);
    }
  };
  const watch = () => {
    const words = textOf("attacker");
    const round = roundOf();
    if (own !== undefined && roomOf("attacker") === null) {
      // The page has ended the attacker.
      note("stopped");
      from ||= round;
    }
    if (round > 0 && words !== "") {
      own ??= new Set(bodyOf("attacker").children);
      note("ready");
    }
    if (words.includes("The connection drops.")) {
      note("drop");
    }
    const stopped = words.includes("The attack was stopped");
    if (stopped || words.includes("The attack is over.")) {
      note(stopped ? "stopped" : "over");
      from ||= round;
    }
    if (from > 0 && round >= from + ROUNDS) {
      note("worked");
    }
  };
  const all = { childList: true, characterData: true, subtree: true };
  new MutationObserver(watch).observe(document, all);
})(FIXTURE);
