/** What the console knows of the gateway. */
import type {
  Catalog,
  DecisionRow,
  LoginRow,
  QuestionRow,
  RunningCall,
  ServerRow,
  SessionRow,
  Status,
} from "./rows.js";

/** What the gateway serves, by path: a view without its page is not shown. */
export interface Served {
  readonly pages: ReadonlySet<string>;
  /** Actions, with `*` for each part that is a name. */
  readonly actions: ReadonlySet<string>;
}

/** The latest answers. */
export interface GatewayState {
  readonly served: Served | undefined;
  readonly status: Status | undefined;
  readonly servers: readonly ServerRow[];
  readonly catalog: Catalog;
  readonly sessions: readonly SessionRow[];
  readonly questions: readonly QuestionRow[];
  readonly decisions: readonly DecisionRow[];
  readonly logins: readonly LoginRow[];
  readonly running: readonly RunningCall[];
  /** Why the last look failed. */
  readonly trouble: string | undefined;
  /** When the pages were read last, in ms since 1970. */
  readonly at: number;
}

/** Whether the gateway serves `/api/v1/NAME`. */
export const hasPage = ({ served }: GatewayState, name: string): boolean => served?.pages.has(name) === true;

/** Whether the gateway takes the action, such as `servers/NAME/restart` as `servers/∗/restart`. */
export const hasAction = ({ served }: GatewayState, name: string): boolean =>
  served?.actions.has(name) === true;
