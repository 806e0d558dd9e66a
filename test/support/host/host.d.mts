import type { Agent, OutgoingHttpHeaders } from "node:http";
import type { Exchange, Json, OpenStream, SendOptions, StreamOptions, Wire } from "./wires.mjs";

export type { Exchange, Json, SendOptions, Wire } from "./wires.mjs";
export { newAgent } from "./wires.mjs";
export type Era = "legacy" | "modern";
export type List = "tools" | "prompts" | "resources" | "resourceTemplates";

export const LISTS: Readonly<Record<List, string>>;

export interface HostOptions {
  readonly capabilities?: Json;
  /** The revision that a legacy host offers. */
  readonly revision?: string;
  /** The log level of each request of a modern host. */
  readonly logLevel?: string;
  /** Calls every tool through the gateway's `call_tool`. */
  readonly throughCallTool?: boolean;
  /** Its own name and version. */
  readonly info?: Json;
  /** Makes an id of the number of a request. */
  readonly idOf?: (number: number) => unknown;
  /** With a URL: the connections, and headers that go with each request. */
  readonly agent?: Agent | false;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What came of a request: its result, or its error as the host sees it. */
export type Outcome =
  | { readonly result: Json; readonly error?: undefined }
  | { readonly result?: undefined; readonly error: { readonly code: unknown; readonly message: string } };

export interface Introduction {
  readonly capabilities: Json;
  readonly instructions: string | undefined;
  readonly serverInfo: Json;
}

/** The changes that a host follows, in the words of the modern era. */
export interface Filter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
}

interface RequestOptions extends SendOptions {
  readonly id?: unknown;
}

interface ConverseOptions extends RequestOptions {
  readonly onRound?: (result: Json) => void;
  readonly idOf?: () => unknown;
}

interface Conversation {
  readonly response: Json;
  readonly received: readonly Json[];
}

export class Host {
  constructor(over: string | URL | Wire, era: Era, options?: HostOptions);
  readonly wire: Wire;
  readonly era: Era;
  readonly session: string | undefined;
  meta: Json;
  open(): Promise<this>;
  discover(): Promise<this>;
  introduction(): Introduction;
  headersOf(method: string, name?: string): OutgoingHttpHeaders;
  message(id: unknown, method: string, params?: Json): Json;
  nextId(): unknown;
  exchange(method: string, params?: Json, options?: RequestOptions): Promise<Exchange>;
  send(id: unknown, method: string, params?: Json, options?: SendOptions): Promise<Json>;
  request(method: string, params: Json): Promise<Outcome>;
  call(name: string, args?: Json, options?: RequestOptions & { readonly meta?: Json }): Promise<Exchange>;
  notify(method: string, params?: Json): Promise<void>;
  respond(question: Json, answer: (question: Json) => unknown): Promise<void>;
  converse(
    method: string,
    params: Json,
    answer: (question: Json) => unknown,
    options?: ConverseOptions,
  ): Promise<Conversation>;
  list(list: List): Promise<readonly Json[]>;
  stream(
    options?: StreamOptions & { readonly id?: unknown; readonly notifications?: Filter },
  ): Promise<OpenStream>;
  follow(filter: Filter, onMessage: (message: Json) => void): Promise<() => Promise<void>>;
  cancel(id: unknown, abort: AbortController): Promise<void>;
  close(): Promise<void>;
}

export function modernMeta(options?: HostOptions): Json;
export function openHost(over: string | URL | Wire, era: Era, options?: HostOptions): Promise<Host>;
export function textOf(message: Json | undefined): string | undefined;
export function refusalOf(
  message: Json | undefined,
): { readonly code: string; readonly retryAfterMs?: number; readonly [key: string]: unknown } | undefined;
