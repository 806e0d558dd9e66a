/** What do parts of the gateway tell the audit log? */

/** What an operator did over the admin listener. */
export interface AdminAction {
  /** `restart_server`, `disable_tool`, `enable_tool`, `end_session`, `cancel_call`, `revoke_approval`, `sign_out`. */
  readonly action: string;
  /** What it was done to: a name, a handle or an id. */
  readonly target: string;
  readonly server?: string;
  readonly principal?: string;
  /** `done`, or why it was not. */
  readonly outcome: string;
}

/** The audit log. It neither throws nor waits. */
export interface AuditLog {
  admin(action: AdminAction): void;
}
