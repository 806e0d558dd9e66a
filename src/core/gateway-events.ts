/** What happens in the gateway besides calls: sign-ins, approvals, actions of operators, reloads. */

/** One event. */
export interface GatewayEvent {
  readonly kind: "approval" | "reload" | "admin" | "sign_in";
  /** The id of who did it. */
  readonly principal?: string;
  /** Of an action of an operator, and of a decision about an approval: where it came from. */
  readonly address?: string;
  /** Name and version of the host. */
  readonly host?: string;
  /** Of an action of an operator its name, such as `restart_server`. */
  readonly method?: string;
  /** What it was done to: a name, a handle or an id. */
  readonly target?: string;
  /** The server, by its key in the config. */
  readonly server?: string;
  /** Of an approval that another person decided: the id of who made the call. */
  readonly caller?: string;
  /** Of an approval `accepted`, `declined` or `expired`. */
  readonly decision?: string;
  readonly rule?: string;
  /** `done`, `ok`, or why it was not. */
  readonly outcome?: string;
  readonly arguments?: unknown;
}

/** Tells the features of an event. Never throws or waits. */
export type EmitEvent = (event: GatewayEvent) => void;
