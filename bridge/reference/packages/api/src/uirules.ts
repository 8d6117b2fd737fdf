/**
 * Reading what plugins pass to cards.
 *
 * Everything is read once and becomes a primitive, so that it does not matter whether a
 * getter or a `toString` answers something else the next time.
 */

export const MOST_CARDS = 16;
export const MOST_PARTS = 200;
export const MOST_ROWS = 500;
export const MOST_CELLS = 20_000;
export const MOST_LABEL = 200;
export const MOST_HELP = 300;
export const MOST_ALT = 1_000;
export const MOST_WORDS = 10_000;
export const USUAL_INPUT = 1_000;
const MOST_COLUMNS = 12;
const MOST_CELL = 500;
const MOST_IN_ROWS = 250_000;
const MOST_IMAGE_BYTES = 512 * 1024;

type Fields = { readonly [name: string]: unknown };

/**
 * Read a text.
 *
 * @param name What the message of an error starts with.
 */
export function readText(name: string, value: unknown, least: number, most: number): string {
  const type = typeof value;
  check(value !== undefined && value !== null, name, "a text");
  check(type !== "function" && type !== "symbol", name, "a text");
  const words = `${value as string}`;
  within(words.length >= least && words.length <= most, name, `${least} to ${most} characters`);
  return words;
}

/** Read a finite number. */
export function readNumber(name: string, value: unknown): number {
  check(typeof value !== "symbol", name, "a number");
  const number = Number(value);
  within(Number.isFinite(number), name, "a finite number");
  return number;
}

/** Read a number that may be absent. */
export function readOptional(name: string, value: unknown): number | undefined {
  return value === undefined ? undefined : readNumber(name, value);
}

/** Read how much is done: from 0 to 1, or `undefined`. */
export function readPart(value: unknown): number | undefined {
  const part = readOptional("progress", value);
  within(part === undefined || (part >= 0 && part <= 1), "progress", "from 0 to 1");
  return part;
}

/** Read the most characters of a field. */
export function readMaxLength(value: unknown): number {
  const most = value === undefined ? USUAL_INPUT : readNumber("maxLength", value);
  const usable = Number.isInteger(most) && most >= 1 && most <= MOST_WORDS;
  within(usable, "maxLength", `a whole number from 1 to ${MOST_WORDS}`);
  return most;
}

/** Check that something can be called; what it does is not known before. */
export function readFunction<F>(name: string, value: F): F {
  check(typeof value === "function", name, "a function");
  return value;
}

/** Return an object whose properties are read next; without one, an empty one. */
export function readOptions(value: unknown): Fields {
  if (value === undefined) {
    return Object.create(null) as Fields;
  }
  check(typeof value === "object" && value !== null, "options", "an object");
  return value as Fields;
}

/** Read the headings of a table. */
export function readColumns(value: unknown): readonly string[] {
  return readList("columns", value, 1, MOST_COLUMNS, (heading) =>
    readText("column", heading, 1, MOST_LABEL),
  );
}

/** Read the rows of a table; each has a cell for every column. */
export function readRows(value: unknown, columns: number): readonly (readonly string[])[] {
  const rows = readList("rows", value, 0, MOST_ROWS, (row) =>
    readList("row", row, columns, columns, (cell) => readText("cell", cell, 0, MOST_CELL)),
  );
  const characters = rows.flat().reduce((sum, cell) => sum + cell.length, 0);
  within(characters <= MOST_IN_ROWS, "rows", `at most ${MOST_IN_ROWS} characters in all`);
  return rows;
}

function readList<T>(
  name: string,
  value: unknown,
  least: number,
  most: number,
  read: (item: unknown) => T,
): readonly T[] {
  check(Array.isArray(value), name, "an array");
  const list = value as readonly unknown[];
  const length = Number(list.length);
  const many = least === most ? `${most}` : `${least} to ${most}`;
  within(length >= least && length <= most, name, `${many} entries`);
  const items: T[] = [];
  for (let at = 0; at < length; at += 1) {
    items[at] = read(list[at]);
  }
  return items;
}

const DATA = /^data:image\/(?:png|jpeg|gif|webp);base64,([A-Za-z0-9+/]+={0,2})$/;
const LONGEST_DATA = Math.ceil(MOST_IMAGE_BYTES / 3) * 4;
const LONGEST_URL = LONGEST_DATA + "data:image/jpeg;base64,".length;
const IMAGE = "the bytes of a PNG, JPEG, GIF or WebP, or a data: URL of one in base64";
const TOO_LARGE = `at most ${MOST_IMAGE_BYTES} bytes`;
const START_CHARACTERS = 24;
const AT_ONCE = 0x2000;

// Not a property that an object can pretend to have.
const arrays: object = Object.getPrototypeOf(Uint8Array.prototype) as object;
const kindOf = Object.getOwnPropertyDescriptor(arrays, Symbol.toStringTag)?.get;

/**
 * Read an image.
 *
 * @returns A `data:` URL that is made here, whatever was passed.
 */
export function readImage(value: unknown): string {
  const data = isBytes(value) ? encode(value) : dataOf(readImageUrl(value));
  const kind = imageKind(data);
  check(kind !== undefined, "image", IMAGE);
  return `data:image/${kind};base64,${data}`;
}

function isBytes(value: unknown): value is Uint8Array {
  return kindOf !== undefined && Reflect.apply(kindOf, value, []) === "Uint8Array";
}

function encode(value: Uint8Array): string {
  // A copy, which no other code can change or has given other methods.
  const bytes = new Uint8Array(value);
  within(bytes.length <= MOST_IMAGE_BYTES, "image", TOO_LARGE);
  let binary = "";
  for (let at = 0; at < bytes.length; at += AT_ONCE) {
    binary += String.fromCharCode(...bytes.subarray(at, at + AT_ONCE));
  }
  return btoa(binary);
}

function readImageUrl(value: unknown): string {
  check(typeof value === "string", "image", IMAGE);
  const url = value as string;
  within(url.length <= LONGEST_URL, "image", TOO_LARGE);
  return url;
}

function dataOf(url: string): string {
  const data = DATA.exec(url)?.[1];
  check(data !== undefined && data.length % 4 === 0, "image", IMAGE);
  return data as string;
}

function imageKind(data: string): string | undefined {
  const start = atob(data.slice(0, START_CHARACTERS));
  if (start.startsWith("\x89PNG\r\n\x1a\n")) {
    return "png";
  }
  if (start.startsWith("\xff\xd8\xff")) {
    return "jpeg";
  }
  if (start.startsWith("GIF87a") || start.startsWith("GIF89a")) {
    return "gif";
  }
  return start.startsWith("RIFF") && start.slice(8, 12) === "WEBP" ? "webp" : undefined;
}

function check(holds: boolean, name: string, rule: string): void {
  if (!holds) {
    throw new TypeError(`${name}: ${rule}`);
  }
}

/** Check a rule about a value of the right type. */
export function within(holds: boolean, name: string, rule: string): void {
  if (!holds) {
    throw new RangeError(`${name}: ${rule}`);
  }
}
