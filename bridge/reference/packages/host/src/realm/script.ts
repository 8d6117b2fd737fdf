import { Bucket } from "../bucket.js";
import type { Thrown } from "./wire.js";
import { type Position, placeIn, sourceLine } from "./sourcemap.js";

// Finding a line in a large source map takes a tenth of a second of the page's.
const PLACES = { perSecond: 1, burst: 5 };

/** The text of a plugin, as its worker runs it. */
export class Script {
  readonly text: string;
  readonly #above: number;
  readonly #map: unknown;
  readonly #places: Bucket;

  /**
   * @param runtime The text of the realm's runtime.
   * @param text The plugin's own bundle; it assigns its exports to `plugin`.
   * @param map `sources` and `mappings` of the plugin's text.
   */
  constructor(runtime: string, id: string, text: string, map: unknown, now: () => number) {
    const head = `${runtime.trimEnd()}\n__realm(function () {\n`;
    // One line for each character that ends one.
    this.#above = head.split(/\r\n|[\n\r\u2028\u2029]/).length - 1;
    this.#map = map;
    this.#places = new Bucket(PLACES, now);
    this.text = `${head}${text}\nreturn plugin;\n});\n//# sourceURL=plugin-${id}.js\n`;
  }

  /** Describe what was thrown, with the line of the plugin's source, except in a flood. */
  describe({ name, message, stack }: Thrown): string {
    const words = name === "" ? message : `${name}: ${message}`;
    return this.#with(words, placeIn(stack, this.#above));
  }

  /** Describe what the browser reports: the text does not parse, mostly. */
  describeEvent(message: string, { line, column }: Position): string {
    const words = message.replace(/^Uncaught /, "") || "it does not parse in this browser";
    const place = line > this.#above ? { line: line - this.#above, column } : undefined;
    return this.#with(words, place);
  }

  #with(words: string, place: Position | undefined): string {
    const isFound = place !== undefined && this.#places.take();
    const source = isFound ? sourceLine(this.#map, place) : "";
    return source === "" ? words : `${words} (${source})`;
  }
}
