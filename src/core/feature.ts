/** What an open feature plugs into the gateway. The gateway knows features by this page alone, and none by its name. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonObject } from "../wire/json.js";
import type { AdminCaller, AdminPage, OwnServerMembers, PageKind, ServerMembers } from "./admin-page.js";
import type { Call, Middleware, Observer, Reply, Route } from "./call.js";
import type { CallConstraint } from "./call-constraint.js";
import type { CallPolicy, MessageRedaction } from "./call-policy.js";
import type { CallRecord } from "./call-record.js";
import type { ClientChannel } from "./client.js";
import type { CredentialSource } from "./credentials.js";
import type { EmitEvent, GatewayEvent } from "./gateway-events.js";
import type { ListAdmission } from "./list-admission.js";
import type { ExposedItem, ListTransform } from "./list-transform.js";
import type { ListKind } from "./lists.js";
import type { KeptServer, ServerStore } from "./persisted-lists.js";
import type { PersonSessions } from "./person-sessions.js";
import type { StartLayer } from "./process-start.js";
import type { FeatureMessages, ReplicaParts, Shared } from "./replicas.js";
import type { SharedStore } from "./shared-store.js";
import type { ToolForms } from "./tool-forms.js";

/**
 * A place in the stack of a call (`gateway/pipeline.ts` has the order and its reasons).
 *
 * - `reply`: outside the observers; gives a reply on, or keeps it back
 * - `mustRecord`: inside the error boundary, before the call has any effect
 * - `checkArguments`: sees the arguments that the server would receive, before a person is asked about the call
 */
export type CallSlot = "reply" | "mustRecord" | "checkArguments";

/**
 * A place in the stack of a server.
 *
 * - `person`: outermost; may ask the person behind a call, while no timeout of the call runs
 * - `checkResults`: outside the response cache; sees the result as the server has sent it
 * - `attempt`: innermost; sees each attempt of a call, as it goes to the server
 */
export type ServerSlot = "person" | "checkResults" | "attempt";

/** A server for which a stack is built. */
export interface LayeredServer {
  /** Its key in the config. */
  readonly name: string;
  /** What features have in its entry, keyed by the paths of their sections. */
  readonly features: Readonly<Record<string, unknown>>;
  /** Where it is reached over HTTP; undefined for a process. */
  readonly url: string | undefined;
  /** Whose credentials calls to it carry; undefined if they carry none but those in its headers. */
  readonly credentialsOf: "principal" | "shared" | "service" | undefined;
  /** What it is given that is secret: values of its environment, headers, arguments and URL. Computed at each call. */
  secrets(): readonly string[];
}

/** A metric of a feature. */
export interface FeatureGauge {
  /** In the style of Prometheus: `cardea_audit_up`. */
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  /** How the values of several workers become one. Default: their sum. */
  readonly merge?: "min" | "max";
}

/** A value of such a metric. */
export interface GaugeReading {
  readonly gauge: FeatureGauge;
  readonly labels?: Readonly<Record<string, string>>;
  /** Called at each scrape. */
  readonly read: () => number;
}

/** A counter of a feature. */
export interface FeatureCounter {
  /** In the style of Prometheus: `cardea_sign_ins_total`. */
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** A counter whose values a feature keeps. */
export interface CounterReading {
  readonly counter: FeatureCounter;
  /** Called at each scrape; a value grows only. */
  readonly read: () => readonly CountedValue[];
}

/** A value of such a counter. */
export interface CountedValue {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A path of the listener for hosts, which needs no credentials. */
export interface HostRoute {
  /** `:name` is one part of it, `*` the rest. */
  readonly path: string;
  /** Who asks: the browser of a person, or a program, such as a script of another origin. */
  readonly asker: "browser" | "program";
  /** Whether the browser of a person who opens the URL for hosts is led there; one path is. */
  readonly isForPersons?: true;
  /** Answers a request whose head was checked; undefined where there is nothing at the path for now. */
  serve(request: IncomingMessage, response: ServerResponse, name: string): Promise<void> | undefined;
}

/** An action of the admin API: what a POST to its path does. */
export interface AdminAction {
  /** After `/api/v1/`; `:name` is one part of it. */
  readonly path: string;
  readonly summary: string;
  /** In sentences about who may do it: `a sign-in`. */
  readonly noun: string;
  /** Write the JSON Schema of its body and of its answer, for the OpenAPI document. */
  bodySchema(this: void): object;
  answerSchema(this: void): object;
  /** Whether the list of actions names it, by which the console knows what the gateway can do. */
  readonly isListed?: boolean;
  /** Its name as an event of the operator, such as `sign_out`. Absent: it is none, as of one that only reads. */
  readonly event?: string;
  /** Whether each signed-in person may do it: `act` decides by the caller. Default: operators. */
  readonly isForPersons?: true;
}

/**
 * An action of an operator on one thing, which each worker does with what it has of it: a POST to its path. It is logged, and emitted
 * as an event.
 */
export interface OperatorAction {
  /** In the log: `restart_server`. */
  readonly name: string;
  /** After `/api/v1/`; `:target` is the name or the id of the thing. */
  readonly path: string;
  readonly summary: string;
  /** Whether only some workers have its target: then one that has none is no failure. */
  readonly isOfOne?: true;
  /** Whether each signed-in person may do it: `act` decides by the caller. Default: operators. */
  readonly isForPersons?: true;
}

/** What a feature adds to the admin API, as the process knows it that only passes requests on to others. */
export interface FeatureAdmin {
  readonly pages: readonly PageKind[];
  readonly actions: readonly AdminAction[];
  readonly operatorActions?: readonly OperatorAction[];
  readonly serverMembers?: ServerMembers;
}

/** An action in the process that does it. */
export interface OwnAdminAction extends AdminAction {
  /** Resolves to an object or a list. @throws GatewayError, with a message for the operator */
  act(named: (part: string) => string, body: JsonObject, by: AdminCaller): Promise<object>;
}

/** An action of an operator in a process that does it. */
export interface OwnOperatorAction extends OperatorAction {
  /** Resolves to undefined when it is done, otherwise to the reason as a sentence. `by`: who acts. */
  act(target: string, by: AdminCaller): Promise<string | undefined>;
}

/** What a feature may use of the gateway that runs it. @public `gateway/slots.ts` adds the config in effect */
export interface RunningGateway {
  /** The URL of the MCP endpoint; undefined until it listens. */
  url(): string | undefined;
  /** Where this process listens for operators; undefined until it does, and where it is one of several that serve the same address. */
  operatorUrl(): string | undefined;
  /** The store that this process shares with others; undefined if it shares none. */
  readonly store: SharedStore | undefined;
  /** Undefined if no feature listens. */
  readonly emit: EmitEvent | undefined;
  /** This process as one of several that share what they know of calls; undefined if it is none. */
  readonly replica: Pick<ReplicaParts, "limits" | "approvals" | "useOnce"> | undefined;
  /** To the same feature in the other processes of this gateway: replicas, or workers of this machine. Undefined if it is one process. */
  readonly messages: FeatureMessages | undefined;
  /** What connections ask for credentials; undefined if no feature has any. */
  readonly credentials: CredentialSource | undefined;
  /** Undefined if no feature has them. */
  readonly personSessions: PersonSessions | undefined;
  /** Whether a feature has approved an entry of a server's list, as the server sent it; false where none approves any. */
  isApproved(server: string, kind: ListKind, item: JsonObject): boolean;
  /** The prefix of ids that only this process can serve (`withIssuer`); undefined where it is the only one. */
  readonly issuer: string | undefined;
  /** How long (ms) a question that is asked now can be answered. */
  answerMs(): number;
  /** Hosts that can be asked between their calls: those with a session, and a stream or a pipe. */
  connectedClients(): readonly ClientChannel[];
  /** Calls `listener` with each that can be asked from now on: its session, or its connection after a gap, is new. */
  onClientConnected(listener: (client: ClientChannel) => void): void;
  /** How often each tool of a server was called, by its own name; undefined where more tools were called than are counted apart. */
  toolCalls(server: string): ReadonlyMap<string, number> | undefined;
  /** Adds 1. */
  count(counter: FeatureCounter, labels: Readonly<Record<string, string>>): void;
  /** A call waits for its turn at `server`, until the returned function is called. */
  enterQueue(server: string): () => void;
  /** A call to `server` has waited this long (s) for a person who is not at its host. */
  approvalWaited(server: string, seconds: number): void;
}

/** A tool whose definition the config changes, with what features have in it, keyed by the paths of their sections. */
interface ToolOverride {
  readonly description?: string;
  readonly features?: Readonly<Record<string, unknown>>;
}

/** A server, as features see it. */
interface ServerWithSettings {
  readonly name: string;
  readonly features: Readonly<Record<string, unknown>>;
  /** Tools whose definitions the config writes, by the server's own names. */
  readonly overrides?: Readonly<Record<string, ToolOverride>>;
}

/** A config, as features see it: what they have in it, keyed by the paths of their sections. */
export interface SettingsOfFeatures {
  /** The absolute paths of all files whose content is in it. Default: none. */
  readonly files?: readonly string[];
  readonly servers: readonly ServerWithSettings[];
  readonly features: Readonly<Record<string, unknown>>;
  readonly profiles: Readonly<Record<string, { readonly features: Readonly<Record<string, unknown>> }>>;
}

/** A tool, for `explain`. */
export interface ExplainedTool {
  readonly route: Route;
  /** Its entry as the config writes it, before a feature shows it in another form. */
  readonly definition: JsonObject | undefined;
  /** Whether hosts list it. */
  readonly isListed: boolean;
  /** The targets of calls that are supposed to have been made before in its conversation. */
  readonly after: readonly Route[];
  /** The URLs that have it: their paths, and their names as in `/mcp/NAME`. */
  readonly urls: readonly { readonly path: string; readonly endpoint: string }[];
}

/** Where in the text of `explain` the words of features stand: how hosts list it, what they see of it, in which schemas. */
export type ExplainPlace = "list" | "definition" | "schemas";

/** Members for the result of `explain`. */
export type ExplainedMembers = Readonly<Partial<Record<ExplainPlace, Readonly<Record<string, unknown>>>>>;

/** A setting of the config that would save tokens of models. */
export interface Saving {
  /** Its key, such as `schemas.compact`. */
  readonly key: string;
  readonly value: unknown;
  /** In each list of tools, or with `results` in these together. */
  readonly tokens: number;
  /** How many results of tools since the start it would have shortened. */
  readonly results?: number;
  /** Of which tools, for people. */
  readonly of?: string;
}

/** The tools for which savings are sought. */
export interface CountedTools {
  readonly entries: readonly ExposedItem[];
  /** What an entry costs. */
  readonly costOf: (item: JsonObject) => { readonly bytes: number; readonly tokens: number };
}

/** Something that operators should know, for the readiness page. */
export interface Problem {
  /** A sentence without secrets. */
  readonly text: string;
  /** Whether the gateway is not ready while it lasts. */
  readonly blocks: boolean;
}

/** A listener for operators, beside that for hosts. */
export interface OperatorListener {
  /** Binds. @throws GatewayError when that would let strangers in, or the error of the system, such as EADDRINUSE. */
  start(): Promise<{ readonly url: string }>;
  /** Closes every connection; resolves when the port is free. */
  stop(): Promise<void>;
  /** A config was loaded. */
  reloaded(): void;
}

/** How long a feature may take to end. */
export interface CloseOptions {
  /** Whether the process ends at once. */
  readonly isImmediate: boolean;
}

/** A feature that runs. Only layers, credentials, routes, pages, actions and `close` may wait or throw. */
export interface OpenFeature {
  readonly name: string;
  /** Called once, before the servers of the first config start. */
  attach?(gateway: RunningGateway): void;
  /** Layers of each call; called for each config, with its servers. */
  callLayers?(
    servers: readonly LayeredServer[],
    config: SettingsOfFeatures,
  ): Partial<Record<CallSlot, Middleware>>;
  /** Layers of the calls to one server; called for each server of each config. `servers`: all of that config. */
  serverLayers?(
    server: LayeredServer,
    servers: readonly LayeredServer[],
  ): Partial<Record<ServerSlot, Middleware>>;
  /** What it takes out of messages of a server that belong to no running call; called as `serverLayers` is. */
  outsideCalls?(server: LayeredServer, servers: readonly LayeredServer[]): MessageRedaction | undefined;
  /** What it makes of the lists of tools; called for each config, undefined where it leaves them. It sees what features before it have made. */
  lists?(config: SettingsOfFeatures): ListTransform | undefined;
  /** What it admits of the lists of one server; called for each server of each config, undefined where it leaves them. */
  admits?(server: LayeredServer, config: SettingsOfFeatures): ListAdmission | undefined;
  /** See each call before its record is made. */
  readonly observers?: readonly Observer[];
  /** Receives the record of each finished call. */
  onRecord?(record: CallRecord, call: Call, reply: Reply): void;
  onEvent?(event: GatewayEvent): void;
  /**
   * The id in a message of a host without a session that only the process can serve that has issued it (`withIssuer`): the message is
   * forwarded there. Where that process is gone, this one serves it.
   */
  issuedIn?(method: string, params: JsonObject): string | undefined;
  /** A session has ended: what was kept for the clients of that affinity is dropped. */
  releaseClient?(affinity: string): void;
  /** Whether it shows the last calls with their arguments and results. Default: no. */
  readonly showsContent?: boolean;
  readonly readings?: readonly GaugeReading[];
  readonly counters?: readonly FeatureCounter[];
  readonly counterReadings?: readonly CounterReading[];
  /**
   * What decides about calls; called for each config, one feature does. `before`: what it returned for the config before, whose
   * state it may continue. `constraints`: those of other features, which it applies.
   */
  decides?(
    config: SettingsOfFeatures,
    before: CallPolicy | undefined,
    constraints: readonly CallConstraint[],
  ): CallPolicy;
  /** What it decides about calls beside that; called for each config, undefined where it constrains none. */
  constrains?(config: SettingsOfFeatures): CallConstraint | undefined;
  /** Whether it has approved an entry of a server's list. Called for calls. */
  approves?(server: string, kind: ListKind, item: JsonObject): boolean;
  /** Changes the starts of servers' processes; of several features those that come first in the list run first, so the last one is outermost. */
  readonly startLayer?: StartLayer;
  /** What connections to servers ask for credentials; one feature has some. */
  readonly credentials?: CredentialSource;
  /** Persons who are signed in with their browser; one feature has them. */
  readonly personSessions?: PersonSessions;
  /** What this process shares with other replicas; one feature does. */
  readonly shared?: Shared;
  readonly routes?: readonly HostRoute[];
  readonly pages?: readonly AdminPage[];
  readonly actions?: readonly OwnAdminAction[];
  readonly operatorActions?: readonly OwnOperatorAction[];
  /** Members of each row of the page of servers. */
  readonly serverMembers?: OwnServerMembers;
  /** Why its layers would refuse the arguments of a call, for `explain`; undefined if they would not. */
  argumentsFault?(call: Call, server: LayeredServer): Promise<string | undefined>;
  /** In which form it shows the definitions of tools; called for each config, undefined where it leaves them. Of several features the first counts. */
  forms?(config: SettingsOfFeatures): ToolForms | undefined;
  /** Members of what `explain` says of a tool, by their place in its text. */
  explained?(tool: ExplainedTool, config: SettingsOfFeatures): ExplainedMembers;
  /** For advice. */
  savings?(tools: CountedTools, config: SettingsOfFeatures): Promise<readonly Saving[]>;
  /** Opens the state of a server that was kept by an earlier run; reads synchronously. */
  storeOf?(server: KeptServer): ServerStore;
  /** What is wrong now; empty if nothing is. */
  problems?(): readonly Problem[];
  /** Calls come to an end: ends what would begin something new. */
  stopping?(): void;
  /** Ends it, after the last call. */
  close(options: CloseOptions): Promise<void>;
}
