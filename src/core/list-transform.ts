/** What a feature may make of the lists of tools: it shows a part of them, and adds tools of the gateway itself. */
import type { JsonObject } from "../wire/json.js";
import type { Call, Middleware, Route } from "./call.js";
import type { CallRecord } from "./call-record.js";
import type { Client } from "./client.js";
import type { StopSignal } from "./stop.js";
import type { ServerFacts } from "./upstream.js";

/** An entry of a list, as hosts see it. */
export interface ExposedItem {
  readonly route: Route;
  /** The server's own entry with the exposed name. */
  readonly item: JsonObject;
}

/** The tools that a client may call. Equal lists are the same object, and never change. */
export interface ToolList {
  readonly entries: readonly ExposedItem[];
  has(exposed: string): boolean;
  indexOf(exposed: string): number;
}

/** The tools of one client, and the list that they are a part of: the same one if that is all of it. */
export interface ToolsOfClient {
  readonly tools: ToolList;
  /** The list that clients with other rights or profiles see other parts of. */
  readonly whole: ToolList;
}

/** The tools of one config. */
export interface ToolSource {
  toolsOf(client: Client): ToolsOfClient;
  /** What a server has said of itself; undefined before its first connection. */
  facts(server: string): ServerFacts | undefined;
}

/** The same for calls, which may wait for lists. */
export interface AwaitedTools extends ToolSource {
  /** Waits for servers in their first start as a list does. Never rejects. */
  prepareLists(client: Client, signal: StopSignal): Promise<void>;
  /** The tools of the live config. */
  readonly latest: ToolSource;
}

/** A server, as the description of the gateway introduces it to a client. */
export interface IntroducedServer {
  readonly name: string;
  /** Undefined before its first connection. */
  readonly facts: ServerFacts | undefined;
  /** Whether its tools are known. */
  readonly hasListed: boolean;
}

/** What is said of the tools in the description of the gateway. */
export interface ToolIntroduction {
  /** Stands before the instructions of servers; undefined: nothing. */
  readonly text: string | undefined;
  /** Whether the instructions of several servers are left out. */
  readonly isInstead: boolean;
  /** Whether there are tools even where no server has one. */
  readonly hasOwnTools: boolean;
}

/** How calls are answered that no server gets. */
interface OwnCalls {
  readonly catalog: AwaitedTools;
  /** Log, metrics and error replies. */
  readonly own: Middleware;
  /** The limits of the config, with counts of their own. */
  readonly limited: Middleware;
}

/** What a feature makes of the tools of one config. */
export interface ListTransform {
  /** The entries that `client` lists: those of `tools`, or others; the same array each time. Never waits. */
  entries(client: Client, tools: ToolList, source: ToolSource): readonly ExposedItem[];
  /** Whether lists at an endpoint depend on the host's `clientInfo`. */
  isPerHost(endpoint: string): boolean;
  /** Undefined where `tools` are introduced as without the transform. */
  introduce(
    client: Client,
    tools: ToolList,
    servers: readonly IntroducedServer[],
  ): ToolIntroduction | undefined;
  /** The entry of a tool of the gateway itself that `client` may call by this name. */
  ownTool(client: Pick<Client, "endpoint">, name: string): JsonObject | undefined;
  /** Outermost: the rest of the stack sees the call that it gives on. */
  layer(calls: OwnCalls): Middleware;
  /** Receives the record of each finished call of this config. */
  readonly onRecord?: (record: CallRecord, call: Call) => void;
  /** The lists of this config are no longer current. */
  close(): void;
}
