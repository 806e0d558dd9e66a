/** The policies of a gateway, one after the other, by what they plug into it. */
import type { Principal } from "../../core/client.js";
import type { CountedValue, OpenFeature, RunningGateway } from "../../core/feature.js";
import { inBackground, type Logger } from "../../core/logger.js";
import { policyActions, policyPages } from "./admin-pages.js";
import type { ApprovalExpiry } from "./approvals.js";
import { COUNTERS, countEnd, countedIn, countNotice, OPEN_APPROVALS, RULE_MATCHES } from "./metrics.js";
import { createPolicy, isPolicy, type Policy, type PolicyParts } from "./policy.js";
import { ApprovalsOfReplicas } from "./second-person/approvals-of-replicas.js";
import { ApproverHosts } from "./second-person/approver-hosts.js";
import { isApprover } from "./second-person/approvers.js";
import { ApprovalNotices } from "./second-person/notices.js";
import type { ApprovalObserver } from "./second-person/open-approvals.js";

/** Each config has a policy, which continues what the one before it remembers. */
export function openPolicy(logger: Logger, redact: (text: string) => string): OpenFeature {
  let parts: PolicyParts | undefined;
  let latest: Policy | undefined;
  let notices: ApprovalNotices | undefined;
  let hosts: ApproverHosts | undefined;
  let replicas: ApprovalsOfReplicas | undefined;
  return {
    name: "policy",
    attach(gateway) {
      notices = new ApprovalNotices({
        ...{ logger, redact },
        onOutcome: (outcome) => countNotice(gateway, outcome),
        consoleUrl: () => gateway.operatorUrl(),
      });
      const all = new ApprovalsOfReplicas({
        messages: gateway.messages,
        isShared: gateway.replica !== undefined,
        own: () => latest?.open,
        logger,
        onOpened: (approval) => asked.opened(approval),
        onEnded: (id) => asked.ended(id),
      });
      const asked = new ApproverHosts({
        ...{ logger, redact },
        connected: () => gateway.connectedClients(),
        openFor: async (principal) => (namesApprover(latest, principal) ? all.all() : []),
        decide: (id, decided, by) => all.decide(id, decided, by),
      });
      gateway.onClientConnected((host) => asked.connected(host));
      [hosts, replicas] = [asked, all];
      parts = partsIn(gateway, redact, { logger, notices, hosts, replicas });
    },
    decides({ features }, before, constraints) {
      if (parts === undefined) throw new TypeError("there is no gateway yet");
      const earlier = before !== undefined && isPolicy(before) ? before : undefined;
      latest = createPolicy(features, parts, earlier, constraints);
      return latest;
    },
    pages: policyPages(
      () => latest,
      () => replicas,
      redact,
    ),
    operatorActions: policyActions(
      () => latest,
      () => replicas,
    ),
    counters: COUNTERS,
    readings: [{ gauge: OPEN_APPROVALS, read: () => latest?.open.size ?? 0 }],
    counterReadings: [{ counter: RULE_MATCHES, read: () => ruleMatches(latest) }],
    problems: () => (notices?.problems ?? []).map((text) => ({ text, blocks: false })),
    stopping: () => latest?.open.stop(),
    async close({ isImmediate }) {
      latest?.close();
      hosts?.close();
      await notices?.close(isImmediate);
    },
  };
}

const ruleMatches = (policy: Policy | undefined): readonly CountedValue[] =>
  (policy?.carried.rules ?? []).map(({ config, hits }) => ({
    labels: { rule: config.name },
    value: hits.count,
  }));

/** Whether a rule has this principal decide. */
const namesApprover = (policy: Policy | undefined, principal: Principal): boolean =>
  policy?.carried.rules.some(({ config }) => isApprover(config.approvers ?? [], principal)) === true;

/** What learns of approvals. */
interface Told {
  readonly logger: Logger;
  readonly notices: ApprovalNotices;
  readonly hosts: ApproverHosts;
  readonly replicas: ApprovalsOfReplicas;
}

function partsIn(
  gateway: RunningGateway,
  redact: (text: string) => string,
  { logger, notices, hosts, replicas }: Told,
): PolicyParts {
  const { replica } = gateway;
  const onEnd = onEndIn(gateway, redact);
  return {
    ...{ metrics: countedIn(gateway), logger },
    sharedLimits: replica?.limits,
    sharedApprovals: replica?.approvals,
    useOnce: replica && ((nonce) => replica.useOnce(nonce, gateway.answerMs())),
    replicas,
    approvals: {
      onOpened(approval, notify, opening) {
        notices.opened(approval, notify, opening);
        hosts.opened(approval);
        inBackground(replicas.opened(approval), logger, "telling replicas of an approval");
      },
      onDue: (id) => replicas.due(id),
      onEnded(ended) {
        hosts.ended(ended.approval.id);
        if (ended.isElsewhere === true) return;
        inBackground(replicas.ended(ended.approval, ended.end), logger, "telling replicas of an approval");
        const { server, at } = ended.approval;
        gateway.approvalWaited(server, (Date.now() - at) / 1_000);
        onEnd(ended);
        notices.ended(ended);
      },
    },
    approvalExpiry: expiryIn(gateway, redact),
  };
}

/** Counts the ends of approvals by other persons, and tells the features. */
function onEndIn(gateway: RunningGateway, redact: (text: string) => string): ApprovalObserver["onEnded"] {
  return ({ approval, end, by }) => {
    const { tool, server, principal, host, rule } = approval;
    countEnd(gateway, end, rule);
    const about = { server, rule, target: redact(tool), ...(host !== undefined && { host: redact(host) }) };
    const who =
      by === undefined
        ? { principal }
        : {
            ...{ principal: by.principal.id, caller: principal },
            ...(by.address !== undefined && { address: by.address }),
          };
    const outcome = end === "withdrawn" ? { decision: "expired", outcome: end } : { decision: end };
    gateway.emit?.({ kind: "approval", ...who, ...about, ...outcome });
  };
}

/** Tells the features of expired approvals; undefined if none listens. */
function expiryIn(gateway: RunningGateway, redact: (text: string) => string): ApprovalExpiry | undefined {
  const { emit } = gateway;
  if (emit === undefined) return undefined;
  return {
    answerMs: () => gateway.answerMs(),
    onExpired: (approval) =>
      emit({ kind: "approval", decision: "expired", ...approval, target: redact(approval.target) }),
  };
}
