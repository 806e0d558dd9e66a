/** What came from a server and was of no use: told to whoever counts or logs it, and otherwise dropped. */
import type { Envelope } from "../../wire/envelope.js";

export interface UnmatchedHandlers {
  /** Something that is no message, with its beginning on one line. */
  readonly onNonProtocolOutput?: (excerpt: string) => void;
  /**
   * A message that nobody waited for (a response to no request in flight, or anything while nobody listens); or,
   * with the error, one that whoever heard it failed on.
   */
  readonly onUnmatchedMessage?: (message: Envelope, error?: unknown) => void;
}

/** Lets `onMessage` have a message. What a server sends may fail there, but may not take the gateway down with it. */
export function deliverSafely(
  onMessage: (message: Envelope) => void,
  message: Envelope,
  unmatched: UnmatchedHandlers,
): void {
  try {
    onMessage(message);
  } catch (error) {
    unmatched.onUnmatchedMessage?.(message, error);
  }
}
