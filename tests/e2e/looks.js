// What the tests ask of a page that is open.

/** What is wider than the window. */
function overflow() {
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  if (wide <= 0) return [];
  const out = [...document.querySelectorAll('body *')].filter(
    (e) => e.checkVisibility() && e.getBoundingClientRect().right > window.innerWidth + 1,
  );
  return out.slice(0, 5).map((e) => `${e.tagName}#${e.id}.${e.className} ${wide}`);
}

/** Pointer targets that are too small; links inside of sentences may be lower (WCAG 2.5.8). */
function small() {
  const targets = document.querySelectorAll('button, a[href], input, select, summary');
  return [...targets].filter((e) => {
    const { width, height } = e.getBoundingClientRect();
    if (!e.checkVisibility() || e.closest('dd, p')) return false;
    return Math.max(height, e.closest('li')?.getBoundingClientRect().height ?? 0) < 44;
  }).map((e) => `${e.tagName}#${e.id} ${e.textContent}`);
}

/** Buttons whose short word is broken. */
function broken() {
  return [...document.querySelectorAll('button')].filter((e) => {
    const words = document.createRange();
    words.selectNodeContents(e);
    const isShort = /^\w{1,9}$/.test(e.textContent) && !e.childElementCount;
    return isShort && words.getClientRects().length > 1;
  }).map((e) => e.textContent);
}

/** What is styled or found by an id that two elements have. */
function doubled() {
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  return [...new Set(ids.filter((id, n) => ids.indexOf(id) !== n))];
}

/** The rules of axe that are broken, with the elements; all rules are looked at if empty. */
function violations(rules, done) {
  const only = rules.length ? { runOnly: rules } : {};
  axe.run(document, { resultTypes: ['violations'], ...only }).then(
    ({ violations }) => done(violations.map(({ id, nodes }) =>
      `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).slice(0, 3).join(' | ')}`)),
    (e) => done([String(e)]),
  );
}

/** The cards of plugins in which something is cut off. */
function cutCards() {
  return [...document.querySelectorAll('.plugin-card, .plugin-card > header')]
    .filter((element) => element.scrollWidth > element.clientWidth)
    .map((element) => element.textContent);
}

/** Whether a part of what has the focus is seen. */
function uncovered() {
  const one = document.activeElement;
  const { x, y, width, height } = one.getBoundingClientRect();
  const at = (part) => document.elementFromPoint(x + width / 2, y + height * part);
  return [0.1, 0.5, 0.9].some((part) => one.contains(at(part)));
}

/** Whether the notice leaves half of the window free, and hides no part of its button. */
function cancellable() {
  const [button, notice] = ['cancel', 'operation'].map(
    (id) => document.getElementById(id)?.getBoundingClientRect() ?? {});
  return button.bottom < notice.bottom && notice.height < innerHeight / 2;
}

/** Whether the page asks before it is left. */
function asksToStay() {
  return !dispatchEvent(new Event('beforeunload', { cancelable: true }));
}

/** What has the focus: its id, test id, row or tag. */
function focused() {
  const e = document.activeElement;
  return e.id || e.dataset.testid || e.dataset.row || e.tagName;
}

/** What was announced to screen readers last, urgent first. */
function announced() {
  const [urgent, polite] = ['live-urgent', 'live-polite'].map((id) => document.getElementById(id));
  return `${urgent.textContent}|${polite.textContent}`.replaceAll('\u00a0', '');
}

/** Whether something is there and visible. */
function isShown(selector) {
  return !!document.querySelector(selector)?.checkVisibility();
}

/** The ids of the plugins that are listed. */
function rows() {
  return [...document.querySelectorAll('#plugin-list [data-row]')].map((row) => row.dataset.row);
}

/** The colours of the links to views. */
function linkColors() {
  return [...document.querySelectorAll('nav a')].map((link) => getComputedStyle(link).color);
}

/** The width in pixels that a picture has by itself. */
function naturalWidth(selector) {
  return document.querySelector(selector).naturalWidth;
}

/** Fills the store of this page's origin, as far as it goes. */
function fillStore() {
  localStorage.removeItem('plugin-bridge.saved');
  for (let size = 1 << 23; size > 0; size >>= 1) try {
    const kept = localStorage.getItem('filling') ?? '';
    localStorage.setItem('filling', kept + 'x'.repeat(size));
  } catch {}
}
