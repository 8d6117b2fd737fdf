/**
 * The script of the frame that holds the realms of all plugins.
 *
 * Its hash is in the policy of `index.html` and in the frame's own: whatever is changed
 * here changes both.
 */

/** Starts and ends workers as the page asks for, and answers its pings. */
export const BOOTSTRAP = `"use strict";
addEventListener("message", function once({ source, ports: [page] }) {
  if (source !== parent || page === undefined) return;
  removeEventListener("message", once);
  const ends = new Map();
  page.onmessage = ({ data: { ping, start, text, port, stop } }) => {
    if (ping !== undefined) {
      page.postMessage({ pong: ping });
    } else if (stop !== undefined) {
      ends.get(stop)?.();
      ends.delete(stop);
    } else {
      const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      const worker = new Worker(url);
      worker.onerror = (event) => {
        event.preventDefault();
        const { message = "", lineno = 0, colno = 0 } = event;
        page.postMessage({ failed: start, message, line: lineno, column: colno });
      };
      worker.postMessage(0, [port]);
      ends.set(start, () => (worker.terminate(), URL.revokeObjectURL(url)));
    }
  };
});`;

/** The hash of the script, as a policy has it. */
export const BOOTSTRAP_HASH = "sha256-zkIGgoVsxCNY4a9QcAhDL551K2y/D5LNOKlszyI8nAY=";

/** The frame's document. */
export const FRAME = `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '${BOOTSTRAP_HASH}'; worker-src blob:"><script>${BOOTSTRAP}</script>`;
