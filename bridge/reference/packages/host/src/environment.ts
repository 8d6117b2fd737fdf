/** What the host needs from the browser; tests replace it. */

/** Run `work` after `milliseconds`; the result cancels that. */
export type Later = (milliseconds: number, work: () => void) => () => void;

/** The part of a WebSocket the host uses. */
export interface Wire {
  send(text: string): void;
  close(): void;
}

/** The listener of a WebSocket. */
export interface WireEvents {
  opened(): void;
  received(data: unknown): void;
  closed(code: number, reason: string): void;
}

export interface Environment {
  readonly later: Later;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Open a WebSocket. */
  readonly open: (url: string, events: WireEvents) => Wire;
  /** GET some JSON; `undefined` when nothing usable answers within the deadline. */
  readonly read: (url: string, deadlineMilliseconds: number) => Promise<unknown>;
}

/** The real browser. */
export const browser: Environment = {
  later(milliseconds, work) {
    const timer = setTimeout(work, milliseconds);
    return () => clearTimeout(timer);
  },

  now: () => Date.now(),

  open(url, events) {
    const socket = new WebSocket(url);
    socket.addEventListener("open", () => events.opened());
    socket.addEventListener("message", ({ data }) => events.received(data));
    socket.addEventListener("close", ({ code, reason }) => events.closed(code, reason));
    return socket;
  },

  async read(url, deadlineMilliseconds) {
    try {
      const answer = await fetch(url, {
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        signal: AbortSignal.timeout(deadlineMilliseconds),
      });
      return answer.ok ? ((await answer.json()) as unknown) : undefined;
    } catch {
      return undefined;
    }
  },
};
