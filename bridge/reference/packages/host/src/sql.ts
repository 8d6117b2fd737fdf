import type { Database, Sql, SqlResult } from "@bridge/plugin-api";

import type { Caller } from "./daemon.js";
import type { Gate } from "./permissions.js";
import { fields, list, text, texts } from "./wire.js";

// A statement may take five seconds, and wait for others before that.
const ANSWER_MILLISECONDS = 15_000;

/** The daemon's `sql` service, behind a plugin's gate. */
export class GatedSql implements Sql {
  readonly #caller: Caller;
  readonly #gate: Gate;

  constructor(caller: Caller, gate: Gate) {
    this.#caller = caller;
    this.#gate = gate;
  }

  async databases(): Promise<readonly Database[]> {
    await this.#gate.pass("sql", "*");
    const answer = fields(await this.#caller.call("sql", "databases"));
    return list(answer["databases"]).map(fields).map((database) => ({
      alias: text(database["alias"]),
      about: text(database["about"]),
    }));
  }

  async query(
    database: string,
    sql: string,
    params: readonly (null | boolean | number | string)[] = [],
  ): Promise<SqlResult> {
    await this.#gate.pass("sql", "*");
    const answer = fields(
      await this.#caller.call(
        "sql",
        "query",
        { database, sql, params: [...params] },
        { timeoutMs: ANSWER_MILLISECONDS },
      ),
    );
    const rows = list(answer["rows"]).map(fields);
    return { columns: texts(answer["columns"]), rows: rows as SqlResult["rows"] };
  }
}
