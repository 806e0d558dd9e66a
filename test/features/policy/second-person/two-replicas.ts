/** The policies of several replicas that reach each other in memory, each plugged into a gateway that only counts. */
import type { Call, Handler } from "../../../../src/core/call.js";
import type { ClientChannel } from "../../../../src/core/client.js";
import type { OpenFeature, RunningGateway } from "../../../../src/core/feature.js";
import type { GatewayEvent } from "../../../../src/core/gateway-events.js";
import { SILENT } from "../../../../src/core/logger.js";
import type { FeatureMessages } from "../../../../src/core/replicas.js";
import { Stop } from "../../../../src/core/stop.js";
import type { RuleConfig } from "../../../../src/features/policy/config.js";
import { openPolicy } from "../../../../src/features/policy/open-policy.js";
import { errorBoundary } from "../../../../src/resilience/error-boundary.js";
import { UsedRounds } from "../../../../src/resilience/used-rounds.js";
import type { JsonObject } from "../../../../src/wire/json.js";
import { clientOf, result } from "../../../support/calls.js";
import { rule } from "../support.js";

type Answer = (message: JsonObject) => JsonObject;

/** One replica. */
export interface ReplicaOfPolicy {
  readonly handle: Handler;
  /** What the audit log would have of approvals, in order. */
  readonly audited: readonly (readonly [principal: string, decision: string | undefined])[];
  /** Counted ends, by their decision. */
  readonly counted: readonly string[];
  /** Others do not reach it, and it reaches none. */
  isCutOff: boolean;
  /** An operator decides at it: undefined, or the reason why that cannot be. */
  decide(id: string, action: "accept" | "decline", as?: string): Promise<string | undefined>;
  ids(): Promise<readonly string[]>;
  /** A host connects to it; what it was asked, and what answers the last question. */
  connect(principal: string, affinity?: string): HostOfReplica;
  close(): Promise<void>;
}

/** A host that is asked between its calls. */
interface HostOfReplica {
  readonly asked: readonly string[];
  readonly withdrawn: readonly string[];
  answer(action: JsonObject): void;
}

/** `count` replicas with this rule, with the ids `r1`, `r2` …; `ran` are the calls that reached the server, over all. */
export function policiesOf(count: number, given: Partial<RuleConfig> & Pick<RuleConfig, "effect">) {
  const ran: Call[] = [];
  const used = new UsedRounds();
  const everyone = clientOf().principal;
  const all: { readonly replica: ReplicaOfPolicy; readonly answers: Map<string, Answer> }[] = [];
  const server: Handler = async (call) => {
    ran.push(call);
    return result({ content: [] });
  };
  const replicas = Array.from({ length: count }, (_, at) => {
    const answers = new Map<string, Answer>();
    const messages: FeatureMessages = {
      own: `r${at + 1}`,
      answer: (topic, answer) => void answers.set(topic, answer),
      async ask(topic, message) {
        const text = JSON.stringify(message);
        await Promise.resolve();
        const others = all.filter(({ replica }) => replica !== self && !replica.isCutOff && !self.isCutOff);
        return others.flatMap(({ answers: of }) => {
          const answer = of.get(topic);
          return answer === undefined ? [] : [answer(JSON.parse(text) as JsonObject)];
        });
      },
    };
    const self = replicaOf(messages, rule(given), server, async (nonce) => used.use(everyone, nonce));
    all.push({ replica: self, answers });
    return self;
  });
  return { replicas, ran };
}

function replicaOf(
  messages: FeatureMessages,
  config: RuleConfig,
  server: Handler,
  useOnce: (nonce: string) => Promise<boolean>,
): ReplicaOfPolicy {
  const audited: [string, string | undefined][] = [];
  const counted: string[] = [];
  const clients: ClientChannel[] = [];
  const connected: ((client: ClientChannel) => void)[] = [];
  const gateway: Partial<RunningGateway> = {
    replica: { useOnce, limits: undefined, approvals: NONE_REMEMBERED } as never,
    messages,
    emit: (event: GatewayEvent) => {
      if (event.kind === "approval") audited.push([event.principal ?? "", event.decision]);
    },
    answerMs: () => 3_600_000,
    connectedClients: () => clients,
    onClientConnected: (listener) => void connected.push(listener),
    count: ({ name }, labels) => {
      if (name === "cardea_approvals_total") counted.push(labels.decision ?? "");
    },
    approvalWaited: () => {},
    operatorUrl: () => undefined,
  };
  const feature: OpenFeature = openPolicy(SILENT, (text) => text);
  feature.attach?.(gateway as never);
  const settings = { policy: { default: "allow", rules: [config] } };
  const policy = feature.decides?.({ features: settings } as never, undefined, []);
  if (policy === undefined) throw new Error("the feature decides nothing");
  const page = (path: string) => feature.pages?.find((each) => each.path === path);
  return {
    ...{ audited, counted, isCutOff: false },
    handle: errorBoundary(SILENT)(policy.access(server)),
    async decide(id, action, as = "lee") {
      const found = feature.operatorActions?.find(({ path }) => path === `approvals/:target/${action}`);
      const principal = { id: as, groups: [], claims: {} };
      return found?.act(id, { principal, role: "person" } as never);
    },
    async ids() {
      const rows = await page("approvals")?.handler(new URLSearchParams(), new Stop().signal);
      return (rows as readonly { readonly id: string }[]).map(({ id }) => id);
    },
    connect(principal, affinity = principal) {
      const host = hostOf(principal, affinity);
      clients.push(host.channel);
      for (const listener of connected) listener(host.channel);
      return host;
    },
    close: () => feature.close({ isImmediate: true } as never),
  };
}

const NONE_REMEMBERED = {
  find: async () => undefined,
  keep: async () => {},
  revoke: async () => {},
  onRevoked: () => () => {},
};

function hostOf(id: string, affinity: string): HostOfReplica & { readonly channel: ClientChannel } {
  const asked: string[] = [];
  const withdrawn: string[] = [];
  let answer: (action: JsonObject) => void = () => {};
  const client = clientOf({
    principal: { id, groups: [], claims: {} },
    ...{ affinity, session: true, capabilities: { elicitation: {} } },
  });
  const channel: ClientChannel = {
    client,
    request: (request, signal) =>
      new Promise((resolve, reject) => {
        asked.push(JSON.stringify(request));
        answer = resolve;
        signal.addEventListener("abort", () => {
          withdrawn.push(JSON.stringify(request));
          reject(signal.reason);
        });
      }),
  };
  return { asked, withdrawn, answer: (action) => answer(action), channel };
}
