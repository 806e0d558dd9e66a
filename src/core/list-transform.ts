/** What a feature may make of the lists: it shows a part of the tools, and adds tools and resources of the gateway itself. */
import type { JsonObject } from "../wire/json.js";
import type { Call, Middleware, Route } from "./call.js";
import type { CallRecord } from "./call-record.js";
import type { Client } from "./client.js";
import type { ServerCondition } from "./server-condition.js";
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
  /** The servers that neither rules nor the endpoint hide from `client`, in the order of the config. */
  serversFor(client: Client): readonly IntroducedServer[];
  /** Whether `client` sees the only server of its endpoint as if there were no gateway. */
  isTransparent(client: Client): boolean;
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
  readonly condition: ServerCondition;
}

/** A resource of the gateway itself, which hosts list, read and follow like those of servers. */
export interface OwnResource {
  readonly entry: ExposedItem;
  /** Its text as `client` finds it now; never waits. Followers are notified where a changed state of a server changes it. */
  text(client: Client, source: ToolSource): string;
}

/** What is said of the tools in the description of the gateway. */
export interface ToolIntroduction {
  /** Stands before the instructions of servers; undefined: nothing. */
  readonly text: string | undefined;
  /** Whether the instructions of several servers are left out. */
  readonly isInstead: boolean;
  /** Whether there are tools even where no server has one. */
  readonly hasOwnTools: boolean;
  /** Whether there are resources even where no server has one. Default: no. */
  readonly hasOwnResources?: boolean;
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
  /**
   * The entries that `client` lists in place of `listed`: all of `tools`, or what transforms before this one list; the same array
   * each time. Never waits.
   */
  entries(
    client: Client,
    tools: ToolList,
    source: ToolSource,
    listed: readonly ExposedItem[],
  ): readonly ExposedItem[];
  /**
   * A text that differs where hosts should list again although `listed` is the same: other tools can be called. Default: none.
   * @param tools all of them
   */
  reach?(client: Client, tools: ToolList): string | undefined;
  /** The resources of the gateway itself, which stand behind those of servers; not shown where the gateway is transparent. */
  readonly resources?: readonly OwnResource[];
  /** Whether lists at an endpoint depend on the host's `clientInfo`. */
  isPerHost(endpoint: string): boolean;
  /** Undefined where `tools` are introduced as without the transform. */
  introduce(client: Client, tools: ToolList, source: ToolSource): ToolIntroduction | undefined;
  /** The entry of a tool of the gateway itself that `client` may call by this name. */
  ownTool(client: Pick<Client, "endpoint">, name: string): JsonObject | undefined;
  /** Outermost: the rest of the stack sees the call that it gives on. */
  layer(calls: OwnCalls): Middleware;
  /** Receives the record of each finished call of this config. */
  readonly onRecord?: (record: CallRecord, call: Call) => void;
  /** The lists of this config are no longer current. */
  close(): void;
}

/** Several as one, the first the innermost; undefined if there is none. */
export function composedLists(transforms: readonly ListTransform[]): ListTransform | undefined {
  const [first, second] = transforms;
  if (first === undefined || second === undefined) return first;
  const recording = transforms.filter(({ onRecord }) => onRecord !== undefined);
  const resources = transforms.flatMap((each) => each.resources ?? []);
  return {
    entries: (client, tools, source, listed) =>
      transforms.reduce((before, each) => each.entries(client, tools, source, before), listed),
    reach: (client, tools) =>
      transforms.map((each) => each.reach?.(client, tools)).find((text) => text !== undefined),
    resources,
    isPerHost: (endpoint) => transforms.some((each) => each.isPerHost(endpoint)),
    introduce: (client, tools, source) =>
      mergedIntroduction(transforms.flatMap((each) => each.introduce(client, tools, source) ?? [])),
    ownTool(client, name) {
      for (const each of transforms) {
        const tool = each.ownTool(client, name);
        if (tool !== undefined) return tool;
      }
      return undefined;
    },
    layer: (calls) => (next) => transforms.reduceRight((inner, each) => each.layer(calls)(inner), next),
    ...(recording.length > 0 && {
      onRecord: (record: CallRecord, call: Call) => {
        for (const each of recording) each.onRecord?.(record, call);
      },
    }),
    close() {
      for (const each of transforms) each.close();
    },
  };
}

function mergedIntroduction(said: readonly ToolIntroduction[]): ToolIntroduction | undefined {
  const texts = said.flatMap(({ text }) => text ?? []);
  return said.length === 0
    ? undefined
    : {
        text: texts.length === 0 ? undefined : texts.join("\n\n"),
        isInstead: said.some(({ isInstead }) => isInstead),
        hasOwnTools: said.some(({ hasOwnTools }) => hasOwnTools),
        hasOwnResources: said.some(({ hasOwnResources }) => hasOwnResources === true),
      };
}
