/**
 * Finds out which plugin ends the process that all of them share.
 *
 * Nothing shows which has filled its memory. So, after it has ended twice, half of those that
 * ran are tried, then half of what ended again, until one is tried alone. Only one whose
 * process has ended twice while nothing else ran in it is named.
 */
export class Suspects {
  #suspects: readonly string[] = [];
  #tried: readonly string[] = [];
  #endedAlone = "";

  /** Whether some are being tried. */
  get areTried(): boolean {
    return this.#tried.length > 0;
  }

  /** Whether a plugin has to wait, so that others can be tried. */
  waits(id: string): boolean {
    if (this.#tried.includes(id)) {
      return false;
    }
    return this.#tried.length === 1 || this.#suspects.includes(id);
  }

  /**
   * The process has ended.
   *
   * @param ran Every plugin that was in it.
   * @returns The one that has ended it; empty while that is not known.
   */
  ended(ran: readonly string[]): string {
    const [alone = ""] = ran.length === 1 ? ran : [];
    if (alone !== "" && alone === this.#endedAlone) {
      this.#suspects = [];
      this.#tryHalf();
      return alone;
    }
    const tried = this.#tried.filter((id) => ran.includes(id));
    this.#suspects = tried.length > 0 ? tried : ran;
    this.#tryHalf();
    this.#endedAlone = alone;
    return "";
  }

  /** What is being tried has run for long enough. */
  survived(): void {
    this.#suspects = this.#suspects.filter((id) => !this.#tried.includes(id));
    this.#tryHalf();
  }

  #tryHalf(): void {
    this.#tried = this.#suspects.slice(0, Math.ceil(this.#suspects.length / 2));
    this.#endedAlone = "";
  }
}
