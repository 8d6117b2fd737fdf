/** The parts of the context of `testing.ts`. */

import type { Json } from "./context.js";
import { PermissionError } from "./errors.js";
import { describe } from "./describe.js";
import { readTarget } from "./httprules.js";
import type { Http, HttpOptions, HttpResponse } from "./http.js";
import type { Native, Notification, NotificationResult, Target } from "./native.js";
import type { Osc, OscArgument, OscMessage, OscValue } from "./osc.js";
import { type KeyedField, readSchema } from "./schemarules.js";
import { checkSet, valueOf } from "./settingrules.js";
import type { Settings } from "./settings.js";
import type { Database, Sql, SqlResult } from "./sql.js";
import type { FakeOptions, FakePermission } from "./testing.js";

/** The permissions of the plugin. */
export class FakeGate {
  readonly #permissions: readonly FakePermission[];
  #closed = false;

  constructor(permissions: readonly FakePermission[]) {
    this.#permissions = permissions;
  }

  async pass(permission: FakePermission): Promise<void> {
    if (this.#closed) {
      throw new PermissionError("the plugin is switched off");
    }
    if (!this.#permissions.includes(permission)) {
      throw new PermissionError(`the plugin does not have the permission ${permission}`);
    }
  }

  close(): void {
    this.#closed = true;
  }
}

/** Settings in memory, under the rules of the plugin's schema. */
export class FakeSettings implements Settings {
  readonly values: Map<string, Json>;
  readonly #schema: ReadonlyMap<string, KeyedField>;
  readonly #failed: (error: unknown) => void;
  readonly #listeners = new Set<() => void>();

  constructor(
    declared: unknown,
    stored: { readonly [key: string]: Json },
    failed: (error: unknown) => void,
  ) {
    this.#schema = new Map(readSchema(declared).map((field) => [field.key, field]));
    this.values = new Map(Object.entries(stored));
    this.#failed = failed;
  }

  get(key: string): Json | undefined;
  get(key: string, fallback: boolean): boolean;
  get(key: string, fallback: number): number;
  get(key: string, fallback: string): string;
  get(key: string, fallback?: Json): Json | undefined {
    const field = this.#schema.get(key);
    const stored = this.values.get(key);
    const value = field === undefined ? stored : valueOf(field, stored);
    return fallback === undefined || typeof value === typeof fallback ? value : fallback;
  }

  async set(key: string, value: Json): Promise<void> {
    checkSet(this.#schema.get(key), key, value);
    this.values.set(key, value);
  }

  onChange(listener: () => void): () => void {
    const added = (): void => listener();
    this.#listeners.add(added);
    return () => void this.#listeners.delete(added);
  }

  save(values: { readonly [key: string]: Json }): void {
    for (const [key, value] of Object.entries(values)) {
      if (!this.#schema.has(key)) {
        throw new RangeError(`${key}: not in the schema`);
      }
      checkSet(this.#schema.get(key), key, value);
    }
    for (const [key, value] of Object.entries(values)) {
      this.values.set(key, value);
    }
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (e) {
        this.#failed(e);
      }
    }
  }
}

/** Records notifications. */
export class FakeNative implements Native {
  readonly notifications: Notification[] = [];
  readonly #gate: FakeGate;
  readonly #options: FakeOptions;

  constructor(gate: FakeGate, options: FakeOptions) {
    this.#gate = gate;
    this.#options = options;
  }

  async targets(): Promise<readonly Target[]> {
    await this.#gate.pass("native");
    return this.#options.targets ?? [];
  }

  async notify(notification: Notification): Promise<NotificationResult> {
    await this.#gate.pass("native");
    this.notifications.push(notification);
    const { notified } = this.#options;
    try {
      return notified?.(notification) ?? { ok: true, delivered: ["fake"], failed: [] };
    } catch (e) {
      // As on the page, it is no reason to reject.
      return { ok: false, delivered: [], failed: [{ sink: "bridge", error: describe(e) }] };
    }
  }

  async call(
    service: string,
    method: string,
    params: { readonly [name: string]: Json } = {},
  ): Promise<unknown> {
    if (service !== "notify") {
      throw new PermissionError("a plugin may only use the service notify");
    }
    await this.#gate.pass("native");
    return this.#options.called?.(method, params) ?? {};
  }
}

/** Records requests. */
export class FakeHttp implements Http {
  readonly requests: { url: string; options: HttpOptions }[] = [];
  readonly #gate: FakeGate;
  readonly #respond: FakeOptions["respond"];

  constructor(gate: FakeGate, { respond }: FakeOptions) {
    this.#gate = gate;
    this.#respond = respond;
  }

  async fetch(url: string, options: HttpOptions = {}): Promise<HttpResponse> {
    const target = readTarget(url);
    await this.#gate.pass("network");
    this.requests.push({ url: target.href, options });
    if (this.#respond === undefined) {
      throw new Error("the test prepares no response: pass the option respond");
    }
    const { status = 200, headers = {}, body = "" } = await this.#respond(target.href, options);
    const content = typeof body === "string" ? body : JSON.stringify(body);
    return {
      status,
      statusText: "",
      ok: status >= 200 && status <= 299,
      url: target.href,
      headers,
      body: content,
      json: () => JSON.parse(content) as Json,
    };
  }
}

/** Records messages, and passes on those that the test lets arrive. */
export class FakeOsc implements Osc {
  readonly sent: OscMessage[] = [];
  readonly listeners = new Set<(message: OscMessage) => void>();
  readonly #gate: FakeGate;
  readonly #failed: (error: unknown) => void;

  constructor(gate: FakeGate, failed: (error: unknown) => void) {
    this.#gate = gate;
    this.#failed = failed;
  }

  async send(address: string, ...args: readonly (OscValue | OscArgument)[]): Promise<void> {
    await this.#gate.pass("osc");
    this.sent.push({ address, args: args.map(argument) });
  }

  async listen(listener: (message: OscMessage) => void): Promise<() => void> {
    await this.#gate.pass("osc");
    const added = (message: OscMessage): void => listener(message);
    this.listeners.add(added);
    return () => void this.listeners.delete(added);
  }

  receive(message: OscMessage): void {
    for (const listener of [...this.listeners]) {
      try {
        listener(message);
      } catch (e) {
        this.#failed(e);
      }
    }
  }
}

/** Answers statements with prepared rows. */
export class FakeSql implements Sql {
  readonly #gate: FakeGate;
  readonly #options: FakeOptions;

  constructor(gate: FakeGate, options: FakeOptions) {
    this.#gate = gate;
    this.#options = options;
  }

  async databases(): Promise<readonly Database[]> {
    await this.#gate.pass("sql");
    return this.#options.databases ?? [];
  }

  async query(
    database: string,
    sql: string,
    params: readonly (null | boolean | number | string)[] = [],
  ): Promise<SqlResult> {
    await this.#gate.pass("sql");
    if (this.#options.query === undefined) {
      throw new Error("the test prepares no rows: pass the option query");
    }
    const rows = this.#options.query(database, sql, params);
    return { columns: Object.keys(rows[0] ?? {}), rows };
  }
}

/** Return an argument with its type on the wire, as the daemon sends it. */
export function argument(value: OscValue | OscArgument): OscArgument {
  switch (typeof value) {
    case "object":
      return value;
    case "boolean":
      return { kind: "bool", value };
    case "number":
      return { kind: Number.isInteger(value) ? "int" : "float", value };
    case "string":
      return { kind: "string", value };
  }
}
