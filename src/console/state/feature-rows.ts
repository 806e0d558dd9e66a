/** The rows of pages that features add, with the members that the console shows. */

/** One of `logins` */
export interface LoginRow {
  readonly server: string;
  readonly principal: string;
  readonly state: string;
  readonly issuer?: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: string | number;
  readonly isRenewed?: boolean;
}

/** One of `decisions` */
export interface DecisionRow {
  readonly time: string;
  readonly call: number;
  readonly on: string;
  readonly method: string;
  readonly target: string;
  readonly server: string;
  readonly principal: string;
  readonly effect: string;
  readonly answer?: string;
  readonly rule: string;
  readonly failed?: string;
}

/** One of `approvals` */
export interface ApprovalRow {
  readonly id: string;
  readonly rule: string;
  readonly principal: string;
  readonly target: string;
  readonly until: string;
  readonly worker?: number;
}
