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
