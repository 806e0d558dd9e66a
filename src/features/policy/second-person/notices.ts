/** Tells a receiver of the config (`notify`) of approvals by other persons: when one opens, and how it ends. A call never waits for that. */
import type { Logger } from "../../../core/logger.js";
import { Webhook, type WebhookTarget } from "../../../outgoing/webhook.js";
import { writeJson } from "../../../wire/json-text.js";
import type { NotifyConfig } from "../config.js";
import { type NoticeOutcome, NoticeQueue } from "./notice-queue.js";
import type { ApprovalEnd, EndedApproval, OpenApproval, Opening } from "./open-approvals.js";

interface NoticeOptions {
  readonly logger: Logger;
  /** Takes known secrets out of a text. */
  readonly redact: (text: string) => string;
  readonly onOutcome: (outcome: NoticeOutcome) => void;
  /** Where the console is; undefined while that is not known. */
  readonly consoleUrl: () => string | undefined;
  /** Default: by HTTP. */
  readonly webhookOf?: ((target: WebhookTarget) => Pick<Webhook, "post" | "close">) | undefined;
}

/** The view of the console in which approvals are decided. */
const INBOX = "/#/inbox";

/** The notices of a gateway, whichever config they are of. */
export class ApprovalNotices {
  readonly #options: NoticeOptions;
  /** Of the receivers that have not accepted all; by URL and secret. */
  readonly #queues = new Map<string, { readonly queue: NoticeQueue; readonly origin: string }>();
  #isClosed = false;

  constructor(options: NoticeOptions) {
    this.#options = options;
  }

  /** An approval waits. Of one that is continued the process that has opened it has posted it. */
  opened(approval: OpenApproval, notify: NotifyConfig | undefined, opening: Opening): void {
    if (notify === undefined || opening === "continued") return;
    const isAgain = opening === "again";
    const base = notify.console ?? this.#options.consoleUrl();
    const console = base === undefined ? {} : { console: `${base.replace(/\/+$/, "")}${INBOX}` };
    const { approvers, arguments: args } = approval;
    const at = isAgain ? Date.now() : approval.at;
    const data = { ...aboutOf(approval), approvers, arguments: args, ...console };
    this.#post(notify, approval.id, { type: "opened", at, isRepeatable: isAgain, data });
  }

  /** It waits no longer. */
  ended({ approval, notify, end, by, isElsewhere }: EndedApproval): void {
    if (notify === undefined || isElsewhere === true) return;
    const data = { ...aboutOf(approval), ...(by !== undefined && { decidedBy: by.principal.id }) };
    const isRepeatable = end === "withdrawn";
    this.#post(notify, approval.id, { type: end, at: Date.now(), isRepeatable, data });
  }

  /** What is not accepted, as sentences. */
  get problems(): readonly string[] {
    return [...this.#queues.values()].flatMap(({ queue: { problem }, origin }) =>
      problem === undefined ? [] : [`notices of approvals are not accepted by ${origin}: ${problem}`],
    );
  }

  /** Posts what is there, for at most 3 s, or ends at once. */
  async close(isImmediate: boolean): Promise<void> {
    this.#isClosed = true;
    const lost = await Promise.all([...this.#queues.values()].map(({ queue }) => queue.close(isImmediate)));
    const count = lost.reduce((sum, each) => sum + each, 0);
    if (count > 0)
      this.#options.logger.warn(
        { count },
        "notices of approvals were not accepted before the gateway stopped",
      );
    this.#queues.clear();
  }

  #post(notify: NotifyConfig, id: string, { type, at, isRepeatable, data }: Notice): void {
    if (this.#isClosed) return;
    const { redact } = this.#options;
    const message = { type: `approval.${type}`, timestamp: new Date(at).toISOString(), data };
    const body = writeJson(message, undefined, (value) =>
      typeof value === "string" ? redact(value) : value,
    );
    // The same in each process that opens or ends it, and in each attempt.
    const parts = ["approval", id.replace(".", "_"), type, ...(isRepeatable ? [at.toString(36)] : [])];
    this.#queueOf(notify).add(id, { id: parts.join("_"), body });
  }

  #queueOf({ url, secret }: WebhookTarget): NoticeQueue {
    const key = `${secret ?? ""} ${url}`;
    const known = this.#queues.get(key);
    if (known !== undefined) return known.queue;
    const { webhookOf = (target) => new Webhook(target) } = this.#options;
    // The path of a URL may be a secret.
    const { origin } = new URL(url);
    const queue = new NoticeQueue({
      webhook: webhookOf({ url, secret }),
      onOutcome: (outcome, reason) => this.#onOutcome(origin, outcome, reason),
      onEmpty: () => this.#queues.delete(key),
    });
    this.#queues.set(key, { queue, origin });
    return queue;
  }

  #onOutcome(url: string, outcome: NoticeOutcome, reason: string | undefined): void {
    this.#options.onOutcome(outcome);
    if (outcome !== "accepted")
      this.#options.logger.error({ url, outcome }, `a notice of an approval is lost: ${reason}`);
  }
}

interface Notice {
  readonly type: "opened" | ApprovalEnd;
  /** ms since 1970. */
  readonly at: number;
  /** Whether the same can happen again to one approval. */
  readonly isRepeatable: boolean;
  readonly data: object;
}

/** As the admin API shows it. */
const aboutOf = ({ id, tool, server, principal, host, rule, at, expiresAt }: OpenApproval) => ({
  ...{ id, tool, server, principal, ...(host !== undefined && { host }), rule },
  ...{ at: new Date(at).toISOString(), expiresAt: new Date(expiresAt).toISOString() },
});
