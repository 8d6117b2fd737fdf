/** What a plugin can show. */
export interface Ui {
  /** Add a card to the page; it stays until the plugin is switched off. */
  card(title: string): Card;
}

/** A card of the page that belongs to one plugin. */
export interface Card {
  /** Where everything of the card below its title is; add what you like. */
  readonly body: HTMLElement;

  /** Add a paragraph; change its `textContent` whenever you like. */
  text(words: string): HTMLParagraphElement;

  /**
   * Add a button.
   *
   * @param pressed What it does; what it throws goes to the plugin's log.
   */
  button(label: string, pressed: () => void | Promise<void>): HTMLButtonElement;
}
