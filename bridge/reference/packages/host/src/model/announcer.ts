import { Signal } from "../signal.js";

/** Something that a screen reader announces. */
export interface Announcement {
  readonly words: string;
  /** Whether it interrupts what is being read. */
  readonly urgent: boolean;
}

/** What there is to announce; the view shows it in live regions. */
export class Announcer {
  readonly announced = new Signal<Announcement>();

  polite(words: string): void {
    this.announced.emit({ words, urgent: false });
  }

  urgent(words: string): void {
    this.announced.emit({ words, urgent: true });
  }
}
