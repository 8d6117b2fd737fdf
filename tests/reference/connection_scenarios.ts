/** How the page finds the daemon, pairs, asks, and connects again. */

import { Connection } from "../../bridge/reference/packages/host/src/connection.js";
import { World, equal, refusal, settle } from "./world.js";

const ENDPOINT = "http://127.0.0.1:42081";

async function started(world: World, token = "secret"): Promise<Connection> {
  const connection = new Connection(world, ENDPOINT, token);
  connection.check();
  await settle();
  return connection;
}

async function welcomed(world: World): Promise<Connection> {
  const connection = await started(world);
  world.socket.welcome();
  return connection;
}

export const connectionScenarios = {
  async four_states() {
    const world = new World();
    world.health = undefined;
    const connection = await started(world);
    equal(connection.state, "not-detected");
    world.health = { ok: true };
    await world.pass(1_000);
    equal(connection.state, "connecting");
    world.socket.events.opened();
    equal(connection.state, "connecting");
    world.socket.welcome();
    equal(connection.state, "connected");
    equal(connection.welcome, { version: "1.2.3", services: ["state", "logs"] });
    connection.useToken("other");
    await settle();
    world.socket.events.closed(1008, "unauthorized");
    equal([connection.state, connection.refusal], ["not-paired", "unauthorized"]);
  },

  async health_must_be_ok() {
    for (const health of [undefined, null, [], "ok", {}, { ok: "true" }, { ok: 1 }]) {
      const world = new World();
      world.health = health;
      equal((await started(world)).state, "not-detected");
      equal(world.probes, [`${ENDPOINT}/v1/health`]);
    }
  },

  async hello_comes_first() {
    const world = new World();
    const connection = await started(world);
    equal(world.socket.url, "ws://127.0.0.1:42081/v1/ws");
    void connection.call("state", "list", { ns: "host" });
    equal(connection.send({ type: "logs", records: [] }), false);
    world.socket.events.opened();
    equal(world.socket.sent, [
      { type: "hello", token: "secret", client: "plugin-bridge-client/0.1.1" },
    ]);
    world.socket.welcome();
    equal(world.socket.of("request"), [
      { type: "request", id: "1", service: "state", method: "list", params: { ns: "host" } },
    ]);
  },

  async no_token_no_socket() {
    const world = new World();
    const connection = await started(world, "");
    await world.pass(120_000);
    equal([connection.state, world.sockets.length], ["not-paired", 0]);
    connection.useToken("secret");
    await settle();
    equal(world.sockets.length, 1);
  },

  async reconnect_times() {
    const world = new World();
    await started(world);
    const times: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      const before = world.now();
      const count = world.sockets.length;
      world.socket.events.closed(1006, "");
      while (world.sockets.length === count) {
        await world.pass(500);
      }
      times.push(world.now() - before);
    }
    equal(times, [1_000, 2_000, 5_000, 15_000, 30_000, 30_000]);
    world.socket.welcome();
    world.socket.events.closed(1001, "shutdown");
    await world.pass(999);
    equal(world.sockets.length, 7);
    await world.pass(1);
    equal(world.sockets.length, 8);
  },

  async absent_daemon_is_looked_for() {
    const world = new World();
    world.health = undefined;
    await started(world);
    await world.pass(53_000);
    equal(world.probes.length, 6);
    equal(world.sockets.length, 0);
  },

  async refusal_is_final() {
    for (const reason of ["unauthorized", "hello_required", ""]) {
      const world = new World();
      const connection = await started(world);
      world.socket.events.closed(1008, reason);
      await world.pass(600_000);
      equal([world.sockets.length, connection.state], [1, "not-paired"]);
      connection.check();
      await settle();
      equal([world.sockets.length, connection.state], [2, "connecting"]);
      world.socket.events.closed(1008, reason);
      connection.useToken("better");
      await settle();
      world.socket.events.opened();
      equal(world.socket.sent[0]?.["token"], "better");
    }
  },

  async refusal_after_welcome_is_final() {
    const world = new World();
    const connection = await welcomed(world);
    world.socket.events.closed(1008, "unauthorized");
    await world.pass(600_000);
    equal([world.sockets.length, connection.state], [1, "not-paired"]);
  },

  async loss_is_noticed_at_once() {
    const world = new World();
    const connection = await welcomed(world);
    world.health = undefined;
    world.socket.events.closed(1006, "");
    await settle();
    equal(connection.state, "not-detected");
  },

  async recheck_keeps_a_working_socket() {
    const world = new World();
    const connection = await welcomed(world);
    connection.check();
    await settle();
    equal([world.sockets.length, world.socket.abandoned], [1, false]);
    equal([world.probes.length, connection.state], [2, "connected"]);
  },

  async slow_probe_is_overtaken() {
    const world = new World();
    let answer = (_health: unknown): void => {};
    const slow = new Promise<unknown>((resolve) => {
      answer = resolve;
    });
    const read = (url: string): Promise<unknown> =>
      url.startsWith(ENDPOINT) ? slow : world.read(url);
    const connection = new Connection({ ...world, read }, ENDPOINT, "secret");
    connection.check();
    connection.useEndpoint("http://127.0.0.1:5");
    await settle();
    answer(undefined);
    await settle();
    equal(world.sockets.map(({ url }) => url), ["ws://127.0.0.1:5/v1/ws"]);
    equal(connection.state, "connecting");
  },

  async old_socket_is_silent() {
    const world = new World();
    const connection = await welcomed(world);
    const old = world.socket;
    connection.useEndpoint("http://127.0.0.1:5");
    await settle();
    equal(old.abandoned, true);
    world.socket.welcome();
    old.events.closed(1008, "unauthorized");
    old.say({ type: "welcome", version: "9", services: {} });
    equal([connection.state, connection.welcome?.version], ["connected", "1.2.3"]);
  },

  async deadlines() {
    const world = new World();
    const connection = await welcomed(world);
    const ended: string[] = [];
    for (const method of ["install", "update", "uninstall", "forget_key", "list"]) {
      void refusal(connection.call("plugins", method)).then((how) =>
        ended.push(`${method} ${how} ${world.now()}`),
      );
    }
    await world.pass(3_999);
    equal(ended, []);
    await world.pass(1);
    equal(ended, ["list BridgeError timeout 4000"]);
    await world.pass(125_999);
    equal(ended.length, 1);
    await world.pass(1);
    equal(ended.slice(1), [
      "install BridgeError timeout 130000",
      "update BridgeError timeout 130000",
      "uninstall BridgeError timeout 130000",
      "forget_key BridgeError timeout 130000",
    ]);
  },

  async deadline_of_a_call() {
    const world = new World();
    const connection = await welcomed(world);
    const ended: string[] = [];
    const call = connection.call("a", "a", {}, { timeoutMs: 9_000 });
    void refusal(call).then((how) => ended.push(`${how} ${world.now()}`));
    await world.pass(8_999);
    equal(ended, []);
    await world.pass(1);
    equal(ended, ["BridgeError timeout 9000"]);
  },

  async call_waits_for_a_socket() {
    const world = new World();
    const connection = await started(world);
    const early = connection.call("state", "get");
    await world.pass(3_999);
    world.socket.welcome();
    await world.pass(3_999);
    world.socket.say({ type: "response", id: "1", ok: true, result: { value: 1 } });
    equal(await early, { value: 1 });
  },

  async call_without_a_socket_gives_up() {
    const world = new World();
    const connection = await started(world);
    const call = connection.call("plugins", "install");
    const refused = refusal(call);
    await world.pass(4_000);
    equal(await refused, "BridgeError timeout");
    world.socket.welcome();
    equal(world.socket.of("request"), []);
  },

  async nothing_is_sent_twice() {
    const world = new World();
    const connection = await welcomed(world);
    const call = connection.call("plugins", "install", { url: "https://example.org" });
    world.socket.events.closed(1006, "");
    equal(await refusal(call), "BridgeError disconnected");
    await world.pass(1_000);
    world.socket.welcome();
    equal(world.socket.of("request"), []);
  },

  async answers_in_any_order() {
    const world = new World();
    const connection = await welcomed(world);
    const calls = [connection.call("a", "a"), connection.call("b", "b")];
    world.socket.say({ type: "response", id: "2", ok: true, result: "second" });
    world.socket.say({ type: "response", id: "2", ok: true, result: "again" });
    world.socket.say({ type: "response", id: "1", ok: true, result: "first" });
    equal(await Promise.all(calls), ["first", "second"]);
  },

  async refusals_carry_the_code() {
    const world = new World();
    const connection = await welcomed(world);
    const call = connection.call("a", "a");
    const error = { code: "rate_limited", message: "slow down" };
    world.socket.say({ type: "response", id: "1", ok: false, error });
    equal(await refusal(call), "BridgeError rate_limited");
    const odd = connection.call("a", "a");
    world.socket.say({ type: "response", id: "2" });
    equal(await refusal(odd), "BridgeError error");
  },

  async nonsense_is_ignored() {
    const world = new World();
    const connection = await welcomed(world);
    const call = connection.call("a", "a");
    const nonsense: unknown[] = ["", "{", "[]", "null", "7", '{"type":7}', 7, undefined];
    for (const data of [...nonsense, '{"type":"response","id":1,"ok":true}']) {
      world.socket.events.received(data);
    }
    world.socket.say({ type: "response", id: "99", ok: true });
    world.socket.say({ type: "response", id: "1", ok: true, result: "fine" });
    equal([await call, connection.state], ["fine", "connected"]);
  },

  async pushes_are_passed_on() {
    const world = new World();
    const connection = await welcomed(world);
    const seen: unknown[] = [];
    connection.pushes.listen((push) => seen.push(push));
    world.socket.say({ type: "push", event: "build", data: { ok: true } });
    equal(seen, [{ event: "build", data: { ok: true } }]);
  },
};
