/** A placeholder until the generated types are there; the same shape. */

export const PROTOCOL_VERSION = "1.0";

export const LIMITS = {
  frameBytes: 8_388_608,
  logRecords: 200,
  logMessageCharacters: 4000,
  logScopeCharacters: 64,
} as const;

export type ErrorCode = "bad_request" | "unauthorized" | "unknown_service" | "unknown_method" | "rate_limited" | "internal" | "unavailable";

type Json = unknown;
type Nothing = { readonly [name: string]: never };

export interface Operation {
  readonly operation: string;
  readonly op: string;
  readonly id: string | null;
  readonly ref: string | null;
  readonly step: string;
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly outcome?: "done" | "refused" | "cancelled";
  readonly error?: { readonly code: string; readonly message: string };
  readonly result?: Json;
  readonly cancellable: boolean;
}

export interface Methods {
  "logs/info": { params: Nothing; result: { ok: boolean; location: string; bytes: number } };
  "notify/send": { params: { title: string; content?: string }; result: { ok: boolean } };
  "notify/targets": { params: Nothing; result: { targets: Json[] } };
  "osc/status": { params: Nothing; result: Json };
  "outbound/fetch": { params: { url: string; timeoutMs?: number }; result: Json };
  "plugins/build": { params: Nothing; result: Json };
  "plugins/cancel": { params: { operation: string }; result: Nothing };
  "plugins/check_updates": { params: Nothing; result: { updates: Json[] } };
  "plugins/forget_key": { params: { keyId: string }; result: Nothing };
  "plugins/install": { params: { url: string; pin?: Json; ref?: string }; result: { plugin: Json } };
  "plugins/keys": { params: Nothing; result: { keys: Json[] } };
  "plugins/list": { params: Nothing; result: { plugins: Json[]; broken: Json[] } };
  "plugins/operations": { params: Nothing; result: { operations: Operation[] } };
  "plugins/preview": { params: { url?: string; id?: string; ref?: string }; result: Json };
  "plugins/uninstall": { params: { id: string; ref?: string }; result: Nothing };
  "plugins/update": { params: { id: string; pin?: Json; ref?: string }; result: { plugin: Json } };
  "remote/eval": { params: { code: string; timeoutMs?: number }; result: Json };
  "remote/result": { params: { id: string; ok: boolean; value?: Json; error?: string }; result: { delivered: boolean } };
  "sql/databases": { params: Nothing; result: Json };
  "sql/query": { params: { database: string; sql: string; params?: Json[] }; result: Json };
  "state/delete": { params: { ns: string; key: string }; result: Nothing };
  "state/get": { params: { ns: string; key: string }; result: { value: Json } };
  "state/list": { params: { ns: string }; result: { entries: { [key: string]: Json } } };
  "state/set": { params: { ns: string; key: string; value: Json }; result: Nothing };
}

export interface Events {
  log: { level: string; scope: string; message: string; ts: number };
  error: { code: string; message: string };
  progress: { op: string; id: string | null; step: string; message: string; operation?: string; ref?: string | null; cancellable?: boolean };
  plugins: { plugins: Json[] };
  build: { ok: boolean; durationMs: number; plugins: string[]; errors: string[] };
  remote: { id: string; code: string };
  osc: { address: string; args: Json[] };
}
