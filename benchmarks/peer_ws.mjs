// The peer of `benchmarks.sockets` in Node's ws: it reads a setting, and no more.
import { createRequire } from "node:module";

const [port, size, folder] = process.argv.slice(2);
const { WebSocketServer } = createRequire(`${folder}/`)("ws");
const state = { host: { k: "x".repeat(Number(size)) } };

new WebSocketServer({ host: "127.0.0.1", port: Number(port) }).on("connection", (ws) => {
  ws.on("message", (text) => {
    const call = JSON.parse(text);
    const value = state[call.params.ns]?.[call.params.key] ?? null;
    ws.send(JSON.stringify({ type: "response", id: call.id, ok: true, result: { value } }));
  });
});
