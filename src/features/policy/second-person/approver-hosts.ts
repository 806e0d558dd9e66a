/**
 * Asks approvers at their own hosts, those with a session that is connected, beside the console: when an approval opens, and when such
 * a host connects. The first decision holds; the other forms are withdrawn.
 */
import { LRUCache } from "lru-cache";
import type { ClientChannel, Principal } from "../../../core/client.js";
import { GatewayError } from "../../../core/errors.js";
import { inBackground, type Logger } from "../../../core/logger.js";
import { Stop } from "../../../core/stop.js";
import { entryLimit } from "../../../runtime/cache-limits.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../../../wire/json.js";
import { supportsFormElicitation } from "../approvals.js";
import { displayedArguments, displayedName } from "../displayed-arguments.js";
import { type Decider, refusalOf } from "./approvers.js";
import type { Decided, OpenApproval } from "./open-approvals.js";

/** Hosts that are asked about one approval, and forms that are open at one host. */
const MAX_HOSTS = 20;
/** See `MAX_HOSTS`. */
export const MAX_FORMS_OF_HOST = 5;
/** Characters of names. */
const MAX_NAME = 200;

/** Approvals whose hosts are remembered, so that none is asked twice. */
const MAX_ASKED = 10_000;

interface HostOptions {
  /** Those that can be asked now. */
  readonly connected: () => readonly ClientChannel[];
  /** What is open, at any process, and may be for this principal: none where no rule names it. */
  readonly openFor: (principal: Principal) => Promise<readonly OpenApproval[]>;
  /** Undefined, or why the decision does not hold. */
  readonly decide: (id: string, decided: Decided, by: Decider) => Promise<string | undefined>;
  readonly logger: Logger;
  /** Takes known secrets out of a text. */
  readonly redact: (text: string) => string;
}

/** An approval that hosts here were asked about. */
interface Asked {
  /** Withdraws its forms. */
  readonly stop: Stop;
  /** By their affinity. */
  readonly hosts: Set<string>;
}

/** The forms that are open at hosts of approvers. */
export class ApproverHosts {
  readonly #options: HostOptions;
  readonly #asked = new LRUCache<string, Asked>({
    ...entryLimit(MAX_ASKED),
    perf: { now: () => performance.now() }, // resolved at each call, so that tests can inject time
    dispose: ({ stop }) =>
      stop.abort(new GatewayError("cancelled", "gateway", "this approval is no longer open")),
  });
  /** Open forms by the affinity of their host. */
  readonly #forms = new Map<string, number>();

  constructor(options: HostOptions) {
    this.#options = options;
  }

  /** Forms that are open, over all hosts. */
  get size(): number {
    return [...this.#forms.values()].reduce((sum, count) => sum + count, 0);
  }

  /** It is open, here or at another process. Asks all that can be asked; no host waits for it, and no call does. */
  opened(approval: OpenApproval): void {
    for (const host of this.#options.connected()) this.#askOnce(approval, host);
  }

  /** A host can be asked from now on: also about what was opened before. */
  connected(host: ClientChannel): void {
    if (!supportsFormElicitation(host)) return;
    const asked = this.#options.openFor(host.client.principal).then((open) => {
      // The first to expire comes first.
      for (const approval of open.toReversed()) this.#askOnce(approval, host);
    });
    inBackground(asked, this.#options.logger, "asking an approver that has connected");
  }

  /** Its forms are withdrawn. */
  ended(id: string): void {
    this.#asked.delete(id);
  }

  close(): void {
    this.#asked.clear();
  }

  /** Unless the host was asked before, or has too many forms. */
  #askOnce(approval: OpenApproval, host: ClientChannel): void {
    const { affinity } = host.client;
    const leftMs = approval.expiresAt - Date.now();
    if (leftMs <= 0 || !mayAsk(approval, host.client)) return;
    if ((this.#forms.get(affinity) ?? 0) >= MAX_FORMS_OF_HOST) return;
    const asked = this.#asked.get(approval.id) ?? { stop: new Stop(), hosts: new Set() };
    if (asked.hosts.has(affinity) || asked.hosts.size >= MAX_HOSTS) return;
    asked.hosts.add(affinity);
    if (asked.hosts.size === 1) this.#asked.set(approval.id, asked, { ttl: leftMs });
    this.#forms.set(affinity, (this.#forms.get(affinity) ?? 0) + 1);
    const form = this.#ask(approval, host, asked.stop).finally(() => this.#formEnded(affinity));
    inBackground(form, this.#options.logger, "asking an approver at a host");
  }

  async #ask(approval: OpenApproval, host: ClientChannel, { signal }: Stop): Promise<void> {
    const { id } = approval;
    try {
      const message = this.#options.redact(await messageOf(approval));
      if (signal.aborted) return;
      const params = { mode: "form", message, requestedSchema: SCHEMA };
      const answer = await host.request({ method: "elicitation/create", params }, signal);
      const decided = decisionIn(answer);
      if (decided === undefined) return;
      // Its groups as they are by now.
      const { principal } = host.client;
      const refusal = await this.#options.decide(id, decided, { principal, isOperator: false });
      if (refusal !== undefined)
        this.#options.logger.info({ id, refusal }, "a decision at a host did not hold");
    } catch (error) {
      // The host cannot be asked, or its form was withdrawn: the approval waits for the others.
      if (!(error instanceof GatewayError))
        this.#options.logger.warn({ id, err: error }, "a host was not asked");
    }
  }

  #formEnded(affinity: string): void {
    const left = (this.#forms.get(affinity) ?? 1) - 1;
    if (left > 0) this.#forms.set(affinity, left);
    else this.#forms.delete(affinity);
  }
}

/** A host that accepts each form, as one without a person may, decides nothing by that: the choice has no default. */
const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    decision: { type: "string", title: "Decision", enum: ["accept", "decline"] },
  },
  required: ["decision"],
};

const mayAsk = (approval: OpenApproval, client: ClientChannel["client"]): boolean =>
  supportsFormElicitation({ client }) &&
  refusalOf(approval, { principal: client.principal, isOperator: false }) === undefined;

/** A form that is closed is no decision. */
function decisionIn(answer: JsonObject): Decided | undefined {
  if (answer.action === "decline") return "declined";
  if (answer.action !== "accept") return undefined;
  const decision = stringAt(objectAt(answer, "content"), "decision");
  if (decision === "accept") return "accepted";
  return decision === "decline" ? "declined" : undefined;
}

async function messageOf(approval: OpenApproval): Promise<string> {
  const { tool, server, principal, host, rule, expiresAt, arguments: args } = approval;
  const name = (text: string): string => displayedName(text, MAX_NAME).text;
  const from = host === undefined ? "" : ` in "${name(host)}"`;
  const text = typeof args === "string" ? args : await textOf(args);
  return [
    `${name(principal)}${from} needs your approval: "${name(tool)}" of server "${server}" with these arguments?`,
    `Rule "${rule}", until ${new Date(expiresAt).toISOString()}.`,
    text,
  ].join("\n");
}

/** In the order that they have. */
async function textOf(args: unknown): Promise<string> {
  if (!isObject(args)) return "{}";
  return (await displayedArguments(args, new Set(Object.keys(args)))).text;
}
