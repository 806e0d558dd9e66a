/** One message that went by. */
export interface Recorded {
  /** A pipe, or a session of HTTP; without a session every exchange is a conversation of its own. */
  readonly conversation: string;
  readonly from: "client" | "server";
  readonly message: unknown;
}
/** Starts an HTTP proxy in front of `target` that records every message in both directions. */
export function tapHttp(
  target: string,
  record: (message: Recorded) => void,
): Promise<{ readonly url: string; close(): Promise<void> }>;
