/** The open features of a gateway, by what they plug in. */
import type { Config, ConfiguredServer } from "../config/config.js";
import type { AdminPage, OwnServerMembers } from "../core/admin-page.js";
import type { Call, Middleware, Observer } from "../core/call.js";
import { type CallPolicy, inSequence, type MessageRedaction } from "../core/call-policy.js";
import type { CredentialSource } from "../core/credentials.js";
import type {
  CallSlot,
  CloseOptions,
  CountedTools,
  ExplainedTool,
  ExplainPlace,
  HostRoute,
  OpenFeature,
  OperatorListener,
  OwnAdminAction,
  OwnOperatorAction,
  Problem,
  RunningGateway,
  Saving,
  ServerSlot,
  SettingsOfFeatures,
} from "../core/feature.js";
import type { EmitEvent } from "../core/gateway-events.js";
import { composedAdmissions, type ListAdmission } from "../core/list-admission.js";
import { composedLists, type ListTransform } from "../core/list-transform.js";
import { type KeptServer, NOT_KEPT, type ServerStore } from "../core/persisted-lists.js";
import type { StartLayer } from "../core/process-start.js";
import type { Shared } from "../core/replicas.js";
import type { ToolForms } from "../core/tool-forms.js";
import type { TokenIssuer } from "../downstream/authenticate/authentication.js";
import { constrainedPolicy } from "../resilience/constrained-calls.js";
import { onlySafeLinks } from "../resilience/safe-links.js";
import type { RecordSink } from "../telemetry/call-records.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { ChannelKinds } from "../upstream/supervision/channel-kind.js";
import type { JsonObject } from "../wire/json.js";
import { layered } from "./layered-server.js";
import type { OperatedGateway } from "./operated-gateway.js";
import type { Pipeline } from "./pipeline.js";

declare module "../core/feature.js" {
  interface OpenFeature {
    /** Issues tokens that hosts may send, while `auth.signIn` is there; one feature does. */
    readonly tokenIssuer?: TokenIssuer;
    /** Listens for operators; called once, after `attach`. One feature does. */
    operatorListener?(gateway: OperatedGateway): OperatorListener;
  }
  interface RunningGateway {
    /** In effect now. */
    config(): Config;
    /** Of the config in effect: what hosts see. */
    pipeline(): Pipeline;
  }
}

/** All in the order of the list of features. */
export class Slots {
  readonly #features: readonly OpenFeature[];
  /** By name: features may count the same. */
  readonly #counters = new Map<string, CountLabels>();
  readonly observers: readonly Observer[];
  readonly recordSinks: readonly RecordSink[];
  /** Whether a feature shows the last calls with their arguments and results. */
  readonly showsContent: boolean;
  /** Undefined if no feature listens. */
  readonly emit: EmitEvent | undefined;
  /** Of the first feature that has some. */
  readonly credentials: CredentialSource | undefined;
  readonly tokenIssuer: TokenIssuer | undefined;
  readonly shared: Shared | undefined;
  readonly routes: readonly HostRoute[];
  readonly pages: readonly AdminPage[];
  readonly actions: readonly OwnAdminAction[];
  readonly operatorActions: readonly OwnOperatorAction[];
  readonly serverMembers: readonly OwnServerMembers[];
  readonly startLayers: readonly StartLayer[];
  /** The ways to reach servers that features add. */
  readonly channels: ChannelKinds;

  constructor(
    features: readonly OpenFeature[],
    metrics: Pick<Metrics, "featureGauge" | "featureCounter" | "featureCount">,
    channels: ChannelKinds = [],
  ) {
    this.#features = features;
    this.channels = channels;
    this.showsContent = features.some(({ showsContent }) => showsContent === true);
    this.observers = features.flatMap(({ observers = [] }) => observers);
    this.recordSinks = features.flatMap((feature) => feature.onRecord?.bind(feature) ?? []);
    const listeners = features.flatMap((feature) => feature.onEvent?.bind(feature) ?? []);
    this.emit =
      listeners.length === 0
        ? undefined
        : (event) => {
            for (const listener of listeners) listener(event);
          };
    for (const reading of features.flatMap(({ readings = [] }) => readings)) metrics.featureGauge(reading);
    for (const reading of features.flatMap(({ counterReadings = [] }) => counterReadings))
      metrics.featureCount(reading);
    for (const counter of features.flatMap(({ counters = [] }) => counters)) {
      if (!this.#counters.has(counter.name))
        this.#counters.set(counter.name, metrics.featureCounter(counter));
    }
    this.credentials = features.find(({ credentials }) => credentials !== undefined)?.credentials;
    this.tokenIssuer = features.find(({ tokenIssuer }) => tokenIssuer !== undefined)?.tokenIssuer;
    this.shared = features.find(({ shared }) => shared !== undefined)?.shared;
    this.startLayers = features.flatMap(({ startLayer }) => startLayer ?? []);
    this.routes = features.flatMap(({ routes = [] }) => routes);
    this.pages = features.flatMap(({ pages = [] }) => pages);
    this.actions = features.flatMap(({ actions = [] }) => actions);
    this.operatorActions = features.flatMap(({ operatorActions = [] }) => operatorActions);
    this.serverMembers = features.flatMap(({ serverMembers = [] }) => serverMembers);
  }

  /** The id in a message that a feature of one process has issued; undefined if none has. */
  readonly issuedIn = (method: string, params: JsonObject): string | undefined => {
    for (const feature of this.#features) {
      const id = feature.issuedIn?.(method, params);
      if (id !== undefined) return id;
    }
    return undefined;
  };

  /** Tells them of their gateway. */
  attach(gateway: Omit<RunningGateway, keyof OfFeatures>): void {
    const running: RunningGateway = {
      ...gateway,
      emit: this.emit,
      credentials: this.credentials,
      personSessions: this.#features.find(({ personSessions }) => personSessions !== undefined)
        ?.personSessions,
      count: (counter, labels) => this.#counters.get(counter.name)?.(labels),
      isApproved: (server, kind, item) =>
        this.#features.some((feature) => feature.approves?.(server, kind, item) === true),
    };
    for (const feature of this.#features) feature.attach?.(running);
  }

  /** The layers of a config, by slot. */
  call(
    config: Pick<Config, "files" | "servers" | "features" | "profiles">,
  ): (slot: CallSlot) => readonly Middleware[] {
    const layeredServers = config.servers.map((server) => layered(server, this.channels));
    const layers = this.#features.flatMap((feature) => feature.callLayers?.(layeredServers, config) ?? []);
    return (slot) => layers.flatMap((each) => each[slot] ?? []);
  }

  /** Of the feature that decides about calls. `before`: of the config before. */
  decides(config: SettingsOfFeatures, before: CallPolicy | undefined): CallPolicy {
    const deciding = this.#features.find((feature) => feature.decides !== undefined);
    const constraints = this.#features.flatMap((feature) => feature.constrains?.(config) ?? []);
    return (
      deciding?.decides?.(config, before, constraints) ?? constrainedPolicy(onlySafeLinks(), constraints)
    );
  }

  /** What features plug into each server of a config. */
  servers({ servers }: Pick<Config, "servers">): SlotsOfServers {
    const all = new Map(servers.map((server) => [server.name, layered(server, this.channels)]));
    const everyServer = [...all.values()];
    return {
      layers: (name) => {
        const server = all.get(name);
        const layers = this.#features.flatMap(
          (feature) => (server && feature.serverLayers?.(server, everyServer)) ?? [],
        );
        return (slot) => layers.flatMap((each) => each[slot] ?? []);
      },
      outsideCalls: new Map(
        everyServer.map((server) => [
          server.name,
          inSequence(this.#features.map((feature) => feature.outsideCalls?.(server, everyServer))),
        ]),
      ),
    };
  }

  /** Of the features that transform the lists of this config; undefined if none does. */
  lists(config: SettingsOfFeatures): ListTransform | undefined {
    return composedLists(this.#features.flatMap((feature) => feature.lists?.(config) ?? []));
  }

  /** What features admit of the lists of each server, by name. */
  admissions(config: Pick<Config, "servers" | "features" | "profiles">): ReadonlyMap<string, ListAdmission> {
    return new Map(
      config.servers.flatMap((server) => {
        const layeredServer = layered(server, this.channels);
        const found = this.#features.flatMap((feature) => feature.admits?.(layeredServer, config) ?? []);
        const admission = composedAdmissions(found);
        return admission === undefined ? [] : [[server.name, admission] as const];
      }),
    );
  }

  /** Of the first feature that shows definitions in another form with this config; undefined if none does. */
  forms(config: SettingsOfFeatures): ToolForms | undefined {
    for (const feature of this.#features) {
      const forms = feature.forms?.(config);
      if (forms !== undefined) return forms;
    }
    return undefined;
  }

  /** The members of all features, by place. */
  explained(
    tool: ExplainedTool,
    config: SettingsOfFeatures,
  ): (place: ExplainPlace) => Readonly<Record<string, unknown>> {
    const members = this.#features.flatMap((feature) => feature.explained?.(tool, config) ?? []);
    return (place) => Object.fromEntries(members.flatMap((each) => Object.entries(each[place] ?? {})));
  }

  async savings(tools: CountedTools, config: SettingsOfFeatures): Promise<readonly Saving[]> {
    const found = await Promise.all(
      this.#features.map(async (feature) => (await feature.savings?.(tools, config)) ?? []),
    );
    return found.flat();
  }

  /** The first that a feature finds. */
  async argumentsFault(call: Call, server: ConfiguredServer): Promise<string | undefined> {
    const layeredServer = layered(server, this.channels);
    for (const feature of this.#features) {
      const fault = await feature.argumentsFault?.(call, layeredServer);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  /** Of the first feature that keeps servers. */
  storeOf(server: KeptServer): ServerStore {
    for (const feature of this.#features) {
      const store = feature.storeOf?.(server);
      if (store !== undefined) return store;
    }
    return NOT_KEPT;
  }

  /** Of the first feature that listens for operators, unbound; undefined if none does. */
  operatorListener(gateway: OperatedGateway): OperatorListener | undefined {
    for (const feature of this.#features) {
      const listener = feature.operatorListener?.(gateway);
      if (listener !== undefined) return listener;
    }
    return undefined;
  }

  /** A session has ended. */
  releaseClient(affinity: string): void {
    for (const feature of this.#features) feature.releaseClient?.(affinity);
  }

  problems(): readonly Problem[] {
    return this.#features.flatMap((feature) => feature.problems?.() ?? []);
  }

  stopping(): void {
    for (const feature of this.#features) feature.stopping?.();
  }

  async close(options: CloseOptions): Promise<void> {
    await Promise.all(this.#features.map((feature) => feature.close(options)));
  }
}

/** What features plug into the servers of one config. */
export interface SlotsOfServers {
  /** The layers of a server, by slot. */
  layers(server: string): (slot: ServerSlot) => readonly Middleware[];
  /** What they take out of messages of a server that belong to no running call. */
  readonly outsideCalls: ReadonlyMap<string, MessageRedaction | undefined>;
}

/** What features have of each other. */
type OfFeatures = Pick<RunningGateway, "emit" | "count" | "credentials" | "personSessions" | "isApproved">;

/** Adds 1 under the labels. */
type CountLabels = (labels: Readonly<Record<string, string>>) => void;
