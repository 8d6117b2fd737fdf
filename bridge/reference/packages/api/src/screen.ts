/** What handles are drawn on: a page, or the record of a test. */

/** What every part of a card has. */
interface Shown {
  readonly shown: boolean;
}

/** A paragraph. */
export interface TextState extends Shown {
  readonly words: string;
  readonly live: boolean;
}

/** A button. */
export interface ButtonState extends Shown {
  readonly label: string;
  readonly enabled: boolean;
}

interface FieldState<Value> extends Shown {
  readonly label: string;
  readonly help: string;
  readonly enabled: boolean;
  readonly value: Value;
  /** How often the plugin has set the value, over what the user may have written. */
  readonly writes: number;
}

/** A field for text. */
export interface InputState extends FieldState<string> {
  readonly maxLength: number;
}

/** A field for a number. */
export interface NumberState extends FieldState<number | undefined> {
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly integer: boolean;
  /** What is wrong with what the user wrote; empty when nothing is. */
  readonly problem: string;
}

/** A table. */
export interface TableState extends Shown {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A progress bar. */
export interface ProgressState extends Shown {
  readonly label: string;
  readonly part: number | undefined;
}

/** An image. */
export interface ImageState extends Shown {
  readonly url: string;
  readonly alt: string;
}

/** A part that is there. */
export interface Drawn<State> {
  /** Show another state. */
  draw(state: State): void;
  remove(): void;
}

/** A card that is there; every method adds a part in its first state. */
export interface CardScreen {
  text(state: TextState): Drawn<TextState>;
  button(state: ButtonState, pressed: () => Promise<void>): Drawn<ButtonState>;
  input(state: InputState, changed: (value: string) => Promise<void>): Drawn<InputState>;
  /** @param changed `NaN` stands for what is no number. */
  number(
    state: NumberState,
    changed: (value: number | undefined) => Promise<void>,
  ): Drawn<NumberState>;
  table(state: TableState): Drawn<TableState>;
  progress(state: ProgressState): Drawn<ProgressState>;
  image(state: ImageState): Drawn<ImageState>;
  remove(): void;
}

/** Where the cards of one plugin are. */
export interface Screen {
  card(title: string): CardScreen;
  /** A function of the plugin threw. */
  failed(what: string, error: unknown): void;
}
