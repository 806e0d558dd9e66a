/** The state of the gateway in the console. */
import type {
  Catalog,
  ProblemRow,
  QuestionRow,
  RunningCall,
  SessionRow,
  Status,
} from "../../features/admin/rows.js";
import type { ApprovalRow, DecisionRow, LoginRow, ShownServer, WaitingApproval } from "./feature-rows.js";

/** The available pages, by path: a view without its page is hidden. */
export interface Served {
  readonly pages: ReadonlySet<string>;
  /** Actions, with `*` for each part that is a name. */
  readonly actions: ReadonlySet<string>;
}

/** The latest responses. */
export interface GatewayState {
  readonly served: Served | undefined;
  readonly status: Status | undefined;
  readonly servers: readonly ShownServer[];
  readonly problems: readonly ProblemRow[];
  readonly catalog: Catalog;
  readonly sessions: readonly SessionRow[];
  readonly questions: readonly QuestionRow[];
  /** Remembered ones, and those that wait for a decision. */
  readonly approvals: readonly (ApprovalRow | WaitingApproval)[];
  readonly decisions: readonly DecisionRow[];
  readonly logins: readonly LoginRow[];
  readonly running: readonly RunningCall[];
  /** Why the last refresh failed. */
  readonly trouble: string | undefined;
  /** Time of the last refresh, in ms since 1970. */
  readonly at: number;
}

/** Whether the gateway provides `/api/v1/NAME`. */
export const hasPage = ({ served }: GatewayState, name: string): boolean => served?.pages.has(name) === true;

/** Whether it provides the action at this path, for this caller. */
export const hasActionAt = ({ served }: GatewayState, path: string): boolean => {
  const parts = path.split("/");
  return [...(served?.actions ?? [])].some((action) => {
    const named = action.split("/");
    return named.length === parts.length && named.every((part, at) => part === "*" || part === parts[at]);
  });
};

/** Whether the gateway provides the action; `servers/NAME/restart` is listed as `servers/∗/restart`. */
export const hasAction = ({ served }: GatewayState, name: string): boolean =>
  served?.actions.has(name) === true;
