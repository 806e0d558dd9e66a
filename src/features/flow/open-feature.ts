/** The flow rules of a gateway, one config after the other, and what its conversations have touched. */
import { APPROVAL_KEY, type Call, type Observer, type Reply, SIGN_IN_KEY } from "../../core/call.js";
import type { OpenFeature, RunningGateway, SettingsOfFeatures } from "../../core/feature.js";
import type { Logger } from "../../core/logger.js";
import { isObject } from "../../wire/json.js";
import { FlowConstraint, touchedBy } from "./constraint.js";
import { Conversations } from "./conversations.js";
import { LabelSource } from "./labels.js";
import { DECISIONS } from "./metrics.js";
import type { FlowRule } from "./section.js";
import { labelWords, nameOf } from "./words.js";

/** Opens it. */
export function openFlow(logger: Logger): OpenFeature {
  let gateway: RunningGateway | undefined;
  let conversations = new Conversations();
  let labels: LabelSource | undefined;
  let latest: FlowConstraint | undefined;
  const labelsIn = (config: SettingsOfFeatures): LabelSource =>
    new LabelSource(config, (...about) => gateway?.isApproved(...about) === true);
  const observer: Observer = {
    name: "flow",
    onEnd(call, reply) {
      if (call.route === undefined || labels === undefined) return;
      const own = labels.of(call.route);
      if ((own.private || own.untrusted) && hasGiven(call, reply))
        conversations.touch(call, own, nameOf(call.route));
    },
  };
  return {
    name: "flow",
    attach(running) {
      gateway = running;
      conversations = new Conversations(running.messages);
    },
    constrains(config) {
      labels = labelsIn(config);
      const rules = (config.features["policy.flow"] ?? []) as readonly FlowRule[];
      if (rules.length === 0) return undefined;
      const count = (rule: string, decision: string) => gateway?.count(DECISIONS, { rule, decision });
      latest = new FlowConstraint(rules, { labels, conversations, count, logger }, latest);
      return latest;
    },
    observers: [observer],
    counters: [DECISIONS],
    explained({ route, after }, config) {
      const source = labelsIn(config);
      const own = labelWords(source.of(route));
      const rules = (config.features["policy.flow"] ?? []) as readonly FlowRule[];
      if (own.length === 0 && rules.length === 0) return {};
      return { list: { flow: { labels: own, touched: touchedBy(after, source) } } };
    },
    releaseClient: (affinity) => conversations.release(affinity),
    close: async () => conversations.clear(),
  };
}

/** Refusals of calls that their server may have run. */
const MAY_HAVE_RUN: ReadonlySet<string> = new Set(["outcome_unknown", "timed_out", "upstream_closed"]);

/** Whether something of the server may be in the conversation: its result, its error, a question, or a call that may have run. */
function hasGiven({ record }: Call, reply: Reply): boolean {
  if (reply.kind === "input_required") return asksForServer(reply.requests);
  const { refusal } = reply;
  return refusal === undefined || record?.sentId !== undefined || MAY_HAVE_RUN.has(refusal);
}

/** The gateway's own questions have nothing of a server. */
const asksForServer = (requests: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(requests).some(
    ([key, request]) =>
      key !== APPROVAL_KEY && key !== SIGN_IN_KEY && isObject(request) && request.method !== "roots/list",
  );
