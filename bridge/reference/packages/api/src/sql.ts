/**
 * The host application's databases, read-only; needs the permission `sql`.
 *
 * The user is asked the first time. Both methods reject with `PermissionError` when
 * the permission is missing.
 */
export interface Sql {
  /** List the databases. */
  databases(): Promise<readonly Database[]>;

  /**
   * Run one SELECT statement of at most five seconds; of several, one after another.
   *
   * Rejects with `BridgeError` when the daemon or SQLite refuses it.
   *
   * @param database The alias of a database.
   * @param sql Placeholders are `?`, or `?1`, `?2` and so on.
   * @param params What the placeholders stand for, in order; at most 64.
   */
  query(
    database: string,
    sql: string,
    params?: readonly (null | boolean | number | string)[],
  ): Promise<SqlResult>;
}

/** A database. */
export interface Database {
  readonly alias: string;
  readonly about: string;
}

/**
 * A value of a row: an integer beyond 2^53 is a string, and a blob is represented by its
 * size. `hex(column)` in the statement reads a blob.
 */
export type SqlValue = null | number | string | { readonly blobBytes: number };

/** The result of a statement; at most 10000 rows. */
export interface SqlResult {
  readonly columns: readonly string[];
  /** Values by column; of two columns with one name it has the last. */
  readonly rows: readonly { readonly [column: string]: SqlValue }[];
}
