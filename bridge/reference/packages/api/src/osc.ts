/**
 * Open Sound Control on this computer; needs the permission `osc`.
 *
 * The user is asked the first time. Both methods reject with `PermissionError`, and
 * send nothing, when the permission is missing.
 */
export interface Osc {
  /**
   * Send one message to port 9000.
   *
   * @param address Such as `/avatar/parameters/Hat`.
   * @param args A whole number is sent as an integer, any other number as a float;
   *   name the `kind` to send a whole number as a float.
   */
  send(address: string, ...args: readonly (OscValue | OscArgument)[]): Promise<void>;

  /**
   * Call `listener` for what arrives at port 9001; a plugin has at most 64 listeners.
   *
   * Of quick messages to one address only some come, and always the last: 30 a second of
   * an address, and 120 a second of all.
   *
   * What is no `OscArgument`, such as a blob, is left out of `args`: the next one comes
   * in its place.
   *
   * @returns A function that ends this. The port is released with the last listener of
   *   all plugins.
   */
  listen(listener: (message: OscMessage) => void): Promise<() => void>;
}

/** The value of an argument; of a kind `int` beyond 2^53 that arrived it is a string. */
export type OscValue = boolean | number | string;

/** An argument with its type on the wire. */
export interface OscArgument {
  readonly kind: "bool" | "int" | "float" | "string";
  readonly value: OscValue;
}

/** A message that arrived. */
export interface OscMessage {
  readonly address: string;
  readonly args: readonly OscArgument[];
}
