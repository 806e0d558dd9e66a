/** Asks approvers at their own hosts, those with a session that is connected, beside the console. The first decision holds; the other forms are withdrawn. */
import type { ClientChannel } from "../../../core/client.js";
import { GatewayError } from "../../../core/errors.js";
import { inBackground, type Logger } from "../../../core/logger.js";
import { Stop } from "../../../core/stop.js";
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

interface HostOptions {
  /** Those that can be asked now. */
  readonly connected: () => readonly ClientChannel[];
  /** Undefined, or why the decision does not hold. */
  readonly decide: (id: string, decided: Decided, by: Decider) => string | undefined;
  readonly logger: Logger;
  /** Takes known secrets out of a text. */
  readonly redact: (text: string) => string;
}

/** The forms that are open at hosts of approvers. */
export class ApproverHosts {
  readonly #options: HostOptions;
  /** What withdraws the forms of an approval. */
  readonly #open = new Map<string, Stop>();
  /** Open forms by the affinity of their host. */
  readonly #forms = new Map<string, number>();

  constructor(options: HostOptions) {
    this.#options = options;
  }

  /** Forms that are open, over all hosts. */
  get size(): number {
    return [...this.#forms.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Asks all that can be asked; no host waits for it, and no call does. */
  opened(approval: OpenApproval): void {
    const hosts = this.#options
      .connected()
      .filter(({ client }) => mayAsk(approval, client))
      .filter(({ client }) => (this.#forms.get(client.affinity) ?? 0) < MAX_FORMS_OF_HOST)
      .slice(0, MAX_HOSTS);
    if (hosts.length === 0) return;
    const stop = new Stop();
    this.#open.set(approval.id, stop);
    inBackground(
      this.#askAll(approval, hosts, stop),
      this.#options.logger,
      "asking approvers at their hosts",
    );
  }

  /** Its forms are withdrawn. */
  ended(id: string): void {
    const reason = new GatewayError("cancelled", "gateway", "this approval is no longer open");
    this.#open.get(id)?.abort(reason);
    this.#open.delete(id);
  }

  close(): void {
    for (const id of [...this.#open.keys()]) this.ended(id);
  }

  /** Never rejects. */
  async #askAll(approval: OpenApproval, hosts: readonly ClientChannel[], stop: Stop): Promise<void> {
    const message = this.#options.redact(await messageOf(approval));
    if (stop.signal.aborted) return;
    await Promise.all(hosts.map((host) => this.#ask(approval, host, message, stop)));
    if (this.#open.get(approval.id) === stop) this.#open.delete(approval.id);
  }

  async #ask({ id }: OpenApproval, host: ClientChannel, message: string, stop: Stop): Promise<void> {
    const { affinity } = host.client;
    this.#forms.set(affinity, (this.#forms.get(affinity) ?? 0) + 1);
    try {
      const params = { mode: "form", message, requestedSchema: SCHEMA };
      const answer = await host.request({ method: "elicitation/create", params }, stop.signal);
      const decided = decisionIn(answer);
      if (decided === undefined) return;
      // Its groups as they are by now.
      const { principal } = host.client;
      const refusal = this.#options.decide(id, decided, { principal, isOperator: false });
      if (refusal !== undefined)
        this.#options.logger.info({ id, refusal }, "a decision at a host did not hold");
    } catch (error) {
      // The host cannot be asked, or its form was withdrawn: the approval waits for the others.
      if (!(error instanceof GatewayError))
        this.#options.logger.warn({ id, err: error }, "a host was not asked");
    } finally {
      const left = (this.#forms.get(affinity) ?? 1) - 1;
      if (left > 0) this.#forms.set(affinity, left);
      else this.#forms.delete(affinity);
    }
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
