/** Takes its port from the runtime when it runs, and draws a table again and again. */
export default {
  id: "redrawing",
  activate(ctx) {
    const { postMessage } = MessagePort.prototype;
    const columns = Array.from({ length: 12 }, () => "c");
    const rows = Array.from({ length: 500 }, () => columns.map(() => ""));
    const [card, ref] = [1_000, 1_001];
    const begin = [
      { op: "card", ref: card, title: "x" },
      { op: "part", ref, card, kind: "table", state: { caption: "c", columns } },
    ];
    const again = Array.from({ length: 60 }, () => ({ op: "draw", ref, state: { rows } }));
    setTimeout(() => {
      MessagePort.prototype.postMessage = function () {
        MessagePort.prototype.postMessage = postMessage;
        const send = (changes) => this.postMessage(JSON.stringify({ t: "batch", changes }));
        send(begin);
        setInterval(send, 400, again);
      };
      ctx.logger.info("now");
    }, 500);
  },
};
