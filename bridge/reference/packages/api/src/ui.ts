/**
 * What a plugin can show.
 *
 * Text is shown as it is, never as HTML. What breaks a rule, such as a limit, throws
 * `RangeError`, or `TypeError` for a value of a wrong type; the message names the rule.
 */
export interface Ui {
  /**
   * Add a card to the page; it stays until it is removed or the plugin is switched off.
   *
   * @param title 1 to 200 characters. A plugin has at most 16 cards, and 200 parts on
   *   all of them together.
   */
  card(title: string): Card;
}

/** A card of the page that belongs to one plugin; what is added comes below the rest. */
export interface Card {
  /** Add a paragraph of at most 10000 characters. */
  text(words: string, options?: TextOptions): TextHandle;

  /**
   * Add a button.
   *
   * @param label 1 to 200 characters.
   * @param pressed What it does; what it throws goes to the plugin's log.
   */
  button(label: string, pressed: () => void | Promise<void>): ButtonHandle;

  /** Add a field for one line of text. Its label is 1 to 200 characters. */
  input(label: string, options?: InputOptions): InputHandle;

  /** Add a field for a number. Its label is 1 to 200 characters. */
  number(label: string, options?: NumberOptions): NumberHandle;

  /**
   * Add a table without rows.
   *
   * @param caption What it shows; 1 to 200 characters.
   * @param columns The headings of 1 to 12 columns; each 1 to 200 characters.
   */
  table(caption: string, columns: readonly string[]): TableHandle;

  /**
   * Add a progress bar; screen readers announce each quarter.
   *
   * @param label What progresses; 1 to 200 characters.
   * @param part From 0 to 1; `undefined` while it is unknown.
   */
  progress(label: string, part?: number): ProgressHandle;

  /**
   * Add an image from the plugin's own data; there is none from an address.
   *
   * @param data The bytes of a PNG, JPEG, GIF or WebP, or a `data:` URL of one in
   *   base64; at most 512 KiB.
   * @param alt What it shows, for those who do not see it; at most 1000 characters,
   *   empty only if it shows nothing that matters.
   */
  image(data: Uint8Array | string, alt: string): ImageHandle;

  /** Remove the card and everything on it. */
  remove(): void;
}

/** What every part of a card has; after `remove`, its methods do nothing. */
export interface Handle {
  /** Show or hide it; it is shown at first. */
  show(shown: boolean): void;
  /** Remove it from the card. */
  remove(): void;
}

/** How a text is shown. */
export interface TextOptions {
  /** Whether screen readers announce what changes; `false` when absent. */
  readonly live?: boolean;
}

/** A paragraph. */
export interface TextHandle extends Handle {
  /** Replace its words. */
  set(words: string): void;
}

/** A button. */
export interface ButtonHandle extends Handle {
  setLabel(label: string): void;
  /** Whether pressing it does anything; it keeps the focus when it does not. */
  enable(enabled: boolean): void;
}

/** What a field for text starts with. */
export interface InputOptions {
  /** Empty when absent. */
  readonly value?: string;
  /** One sentence below it; at most 300 characters. */
  readonly help?: string;
  /** The most characters it takes; 1000 when absent, and never more than 10000. */
  readonly maxLength?: number;
  /**
   * Called after the user changed the value and left the field, or pressed Enter.
   *
   * What it throws goes to the plugin's log.
   */
  readonly changed?: (event: InputChange) => void | Promise<void>;
}

/** The user changed a text. */
export interface InputChange {
  readonly value: string;
}

/** A field for one line of text. */
export interface InputHandle extends Handle {
  /** Return what is in it. */
  value(): string;
  /** Replace what is in it; `changed` is not called. */
  set(value: string): void;
  enable(enabled: boolean): void;
}

/** What a field for a number starts with. */
export interface NumberOptions {
  /** Empty when absent. */
  readonly value?: number;
  /** One sentence below it; at most 300 characters. */
  readonly help?: string;
  readonly min?: number;
  readonly max?: number;
  /** Whether only whole numbers are accepted. */
  readonly integer?: boolean;
  /**
   * Called as for a text, and only with what the field accepts.
   *
   * The page itself points out a number that the field does not accept.
   */
  readonly changed?: (event: NumberChange) => void | Promise<void>;
}

/** The user changed a number. */
export interface NumberChange {
  /** `undefined` when the field is empty. */
  readonly value: number | undefined;
}

/** A field for a number. */
export interface NumberHandle extends Handle {
  /** Return the last number that the field accepted; `undefined` when it is empty. */
  value(): number | undefined;
  /** Replace what is in it; `changed` is not called. */
  set(value: number | undefined): void;
  enable(enabled: boolean): void;
}

/** What a table shows; at most 500 characters. */
export type Cell = string | number | boolean;

/** A table. */
export interface TableHandle extends Handle {
  /**
   * Replace its rows, at most 500; each has a cell for every column.
   *
   * All cells together have at most 250000 characters. A plugin has at most 20000 cells.
   */
  setRows(rows: readonly (readonly Cell[])[]): void;
}

/** A progress bar. */
export interface ProgressHandle extends Handle {
  /** Move it: from 0 to 1, or `undefined` while it is unknown. */
  set(part: number | undefined): void;
}

/** An image. */
export interface ImageHandle extends Handle {
  /** Replace it; the same rules hold as for `card.image`. */
  set(data: Uint8Array | string, alt: string): void;
}
