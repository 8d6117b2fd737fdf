/**
 * Watches a page from a world of its own, where nothing that the page changes is seen.
 *
 * `STAND` is replaced by what the page is to find in its browser.
 */
(() => {
  const stand = STAND;
  const roomOf = (id) => document.querySelector(`[data-testid="plugin-cards-${id}"]`);
  const textOf = (id) => roomOf(id)?.textContent ?? "";
  const isPage = location.origin === stand.origin;
  const ROUNDS = 5;

  // What the suite asks for when an attack is over.
  globalThis.look = () => {
    const page = document.documentElement.cloneNode(true);
    page.querySelector('[data-testid="plugin-cards-attacker"]')?.remove();
    return {
      left: !isPage,
      taken: textOf("attacker"),
      defaced: `${location.href} ${page.outerHTML}`.includes("DEFACED"),
    };
  };

  if (self !== top || !isPage) {
    return;
  }
  // Once for each attack: what an attack leaves there lasts over a reload.
  if (sessionStorage.getItem("attack") !== location.pathname) {
    localStorage.clear();
    sessionStorage.clear();
    sessionStorage.setItem("attack", location.pathname);
    localStorage.setItem("plugin-bridge.endpoint", stand.endpoint);
    localStorage.setItem("plugin-bridge.token", stand.token);
    document.cookie = `kept=${stand.cookie}; path=/`;
  }

  const noted = new Set();
  const note = (what) => {
    if (!noted.has(what)) {
      noted.add(what);
      globalThis.noted(what);
    }
  };
  let first;
  new MutationObserver(() => {
    const words = textOf("attacker");
    if (words.includes("The connection drops.")) {
      note("drop");
    }
    if (words.includes("The attack is over.")) {
      note("over");
      const round = Number(/ round (\d+)$/.exec(textOf("victim"))?.[1] ?? 0);
      first ??= round;
      if (round >= Math.max(first, 1) + ROUNDS) {
        note("worked");
      }
    }
  }).observe(document, { childList: true, characterData: true, subtree: true });
})();
