import type {
  Context,
  Http,
  Logger,
  Native,
  Osc,
  Settings,
  Sql,
  Ui,
} from "@bridge/plugin-api";

import { frozen } from "../../api/src/frozen.js";
import type { Caller } from "./daemon.js";
import type { Grants } from "./grants.js";
import { GatedHttp } from "./http.js";
import { describe } from "./log.js";
import type { Manifest } from "./manifest.js";
import { GatedNative } from "./native.js";
import { GatedOsc, type OscHub } from "./osc.js";
import { type Asker, Gate } from "./permissions.js";
import { StoredSettings } from "./settings.js";
import { GatedSql } from "./sql.js";
import type { PluginCaller } from "./turns.js";

/** Where a plugin shows things, until it is removed. */
export interface Place {
  readonly ui: Ui;
  /** Remove what the plugin shows. */
  remove(): void;
}

/** A plugin that was given a context: the context, and what ends it. */
export interface Instance {
  readonly context: Context;
  readonly settings: StoredSettings;
  /** The user revoked a permission: end what runs on with it. */
  revoked(permission: string): void;
  /** The plugin is switched off: end everything, and refuse the rest. */
  close(): void;
}

/** What an instance is made of. */
export interface InstanceParts {
  readonly daemon: Caller;
  /** The daemon, for what the plugin does. */
  readonly caller: PluginCaller;
  readonly hub: OscHub;
  readonly asker: Asker;
  readonly place: (manifest: Manifest, logger: Logger) => Place;
  readonly logger: (id: string) => Logger;
  readonly grants: (id: string) => Grants;
}

/** Make the instance of a plugin; rejects when its settings cannot be read. */
export async function makeInstance(manifest: Manifest, parts: InstanceParts): Promise<Instance> {
  const { id } = manifest;
  const { caller } = parts;
  const logger = parts.logger(id);
  const failed = (error: unknown): void =>
    logger.error(`a listener failed: ${describe(error)}`);
  const settings = await StoredSettings.read(parts.daemon, caller, id, failed);
  const gate = new Gate(manifest, parts.grants(id), parts.asker);
  const osc = new GatedOsc(parts.hub, caller, gate, failed);
  const place = parts.place(manifest, logger);
  const context = frozen<Context>({
    id,
    logger: frozen(logger),
    settings: settingsOf(settings),
    ui: place.ui,
    native: nativeOf(new GatedNative(caller, gate)),
    http: httpOf(new GatedHttp(caller, gate)),
    osc: oscOf(osc),
    sql: sqlOf(new GatedSql(caller, gate)),
  });
  return {
    context,
    settings,
    revoked(permission) {
      if (permission === "osc") {
        osc.silence();
      }
    },
    close() {
      gate.close();
      caller.close();
      osc.silence();
      place.remove();
    },
  };
}

// A plugin gets functions without the objects they work on, and promises of its own.

function settingsOf(settings: StoredSettings): Settings {
  return frozen<Settings>({
    get: ((key: string, fallback: never) => settings.get(key, fallback)) as Settings["get"],
    set: async (key, value) => settings.set(key, value),
    onChange: (listener) => Object.freeze(settings.onChange(listener)),
  });
}

function nativeOf(native: Native): Native {
  return frozen<Native>({
    call: (...given) => native.call(...given),
    targets: () => native.targets(),
    notify: (notification) => native.notify(notification),
  });
}

function httpOf(http: Http): Http {
  return frozen<Http>({ fetch: (...given) => http.fetch(...given) });
}

function oscOf(osc: Osc): Osc {
  return frozen<Osc>({
    send: (...given) => osc.send(...given),
    listen: async (listener) => Object.freeze(await osc.listen(listener)),
  });
}

function sqlOf(sql: Sql): Sql {
  return frozen<Sql>({
    databases: () => sql.databases(),
    query: (...given) => sql.query(...given),
  });
}
