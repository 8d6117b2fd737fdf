// What tests of losses do in the page, besides what a user does.

/** The other half of a double-click: on the button of a dialog that has just come. */
function pressAtOnce() {
  const first = document.getElementById("question");
  new MutationObserver((_, observer) => {
    const next = document.getElementById("question");
    if (next !== null && next !== first) {
      observer.disconnect();
      next.querySelector("#question-yes").click();
      globalThis.pressed = 1;
    }
  }).observe(document.body, { childList: true, subtree: true });
}

/** Notes whether the page reads anything of a message but short texts. */
function noteObjects() {
  const data = Object.getOwnPropertyDescriptor(MessageEvent.prototype, "data");
  Object.defineProperty(MessageEvent.prototype, "data", {
    get() {
      const read = data.get.call(this);
      globalThis.hasRead ||= Array.isArray(read) || read.message?.length > 2_000;
      return read;
    },
  });
}
