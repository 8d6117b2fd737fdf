/**
 * The script of the frame that holds the realms of all plugins.
 *
 * Its hash is in the policy of `index.html` and in the frame's own: whatever is changed
 * here changes both.
 */

/**
 * Starts and ends workers as the page asks for, and answers its pings.
 *
 * Of what a worker sends, the page gets the texts only, and of an error the beginning: an
 * object fills the memory of the process that reads it, before its size is known, and ports
 * do that come with a text. The runtime catches what a plugin throws, so that one error ends
 * a worker: without it, the text does not parse, or the next errors would keep this thread
 * from all others.
 */
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
        const words = message.slice(0, 2000);
        page.postMessage({ failed: start, message: words, line: lineno, column: colno });
        ends.get(start)?.();
      };
      const { port1: own, port2 } = new MessageChannel();
      own.onmessage = ({ data, ports }) =>
        port.postMessage(typeof data === "string" && ports.length === 0 ? data : "");
      port.onmessage = ({ data }) => own.postMessage(data);
      worker.postMessage(0, [port2]);
      ends.set(start, () => (own.close(), worker.terminate(), URL.revokeObjectURL(url)));
    }
  };
});`;

/** The hash of the script, as a policy has it. */
export const BOOTSTRAP_HASH = "sha256-Yvfs4nT4CxmvswPLLaB4jIn2k3k4X5XIpsSpXF3iyK8=";

/** The frame's document. */
export const FRAME = `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '${BOOTSTRAP_HASH}'; worker-src blob:"><script>${BOOTSTRAP}</script>`;
