/** Hosts made of the official SDKs that can be asked: by sampling, by elicitation of both kinds, and for roots. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioClientTransport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as StreamableHTTPClientTransport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { withFreshState } from "../fresh-state.js";
import type { Json, Place } from "./host.js";

/** What a host answers when it is asked; each gets the parameters of the question. */
export interface Answers {
  elicit(params: Json): Json;
  sample(params: Json): Json;
  roots(): Json;
}

export interface AskableHost {
  /** The questions it was asked, in order. */
  readonly asked: readonly { readonly method: string; readonly params: Json }[];
  /** The texts of the log messages and the URIs of the resource updates it received. */
  readonly heard: { readonly logs: readonly string[]; readonly updates: readonly string[] };
  listTools(): Promise<readonly string[]>;
  /** The text of the answer, blocks joined by line breaks; `progress` receives its progress. */
  call(name: string, args?: Json, progress?: (done: number) => void): Promise<string>;
  follow(uri: string): Promise<void>;
  setLevel(level: "debug" | "info"): Promise<void>;
  close(): Promise<void>;
}

export interface AskableKind {
  readonly name: string;
  readonly era: "legacy" | "modern";
  connect(place: Place, answers: Answers): Promise<AskableHost>;
}

const INFO = { name: "cardea-askable-host", version: "1.0.0" };
const CAPABILITIES = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };

interface Notes {
  readonly asked: { method: string; params: Json }[];
  readonly heard: { logs: string[]; updates: string[] };
}

/** The answers, with each question written down. */
function noting(answers: Answers) {
  const notes: Notes = { asked: [], heard: { logs: [], updates: [] } };
  const note = (method: string, params: unknown): Json => {
    const known = (params ?? {}) as Json;
    notes.asked.push({ method, params: known });
    return known;
  };
  return {
    notes,
    elicit: (params: unknown) => answers.elicit(note("elicitation/create", params)),
    sample: (params: unknown) => answers.sample(note("sampling/createMessage", params)),
    roots: () => {
      note("roots/list", {});
      return answers.roots();
    },
    log: (params: { readonly data?: unknown }) => {
      notes.heard.logs.push(String(params.data));
    },
    update: (params: { readonly uri: string }) => {
      notes.heard.updates.push(params.uri);
    },
  };
}

const textOf = (result: unknown): string =>
  (((result as Json).content ?? []) as readonly { readonly text?: string }[])
    .map(({ text }) => text ?? "")
    .join("\n");
const environment = (): Record<string, string> =>
  withFreshState({ PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "" });

const ASKABLE_1: AskableKind = {
  name: "SDK 1.32",
  era: "legacy",
  async connect(place, answers) {
    const { notes, elicit, sample, roots, log, update } = noting(answers);
    const client = new Client1(INFO, { capabilities: CAPABILITIES });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicit(params) as never);
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => sample(params) as never);
    client.setRequestHandler(ListRootsRequestSchema, () => roots() as never);
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => log(params));
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => update(params));
    const transport =
      "url" in place
        ? new StreamableHTTPClientTransport1(new URL(place.url))
        : new StdioClientTransport1({
            command: place.command,
            args: [...place.args],
            env: environment(),
            stderr: "ignore",
          });
    await client.connect(transport as Parameters<Client1["connect"]>[0]);
    return {
      ...notes,
      listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name, args = {}, progress) =>
        textOf(
          await client.callTool({ name, arguments: args }, undefined, {
            ...(progress && { onprogress: ({ progress: done }) => progress(done) }),
          }),
        ),
      follow: async (uri) => {
        await client.subscribeResource({ uri });
      },
      setLevel: async (level) => {
        await client.setLoggingLevel(level);
      },
      close: () => client.close(),
    };
  },
};

const askable2 = (name: string, era: "legacy" | "modern"): AskableKind => ({
  name,
  era,
  async connect(place, answers) {
    const { notes, elicit, sample, roots, log, update } = noting(answers);
    const mode = era === "modern" ? { pin: "2026-07-28" } : "legacy";
    const client = new Client(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode } });
    client.setRequestHandler("elicitation/create", ({ params }) => elicit(params) as never);
    client.setRequestHandler("sampling/createMessage", ({ params }) => sample(params) as never);
    client.setRequestHandler("roots/list", () => roots() as never);
    client.setNotificationHandler("notifications/message", ({ params }) => log(params));
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => update(params));
    const transport =
      "url" in place
        ? new StreamableHTTPClientTransport(new URL(place.url))
        : new StdioClientTransport({
            command: place.command,
            args: [...place.args],
            env: environment(),
            stderr: "ignore",
          });
    await client.connect(transport);
    let level: string | undefined;
    return {
      ...notes,
      listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
      call: async (tool, args = {}, progress) => {
        const _meta = level !== undefined && { _meta: { "io.modelcontextprotocol/logLevel": level } };
        return textOf(
          await client.callTool({ name: tool, arguments: args, ..._meta } as never, {
            ...(progress && { onprogress: ({ progress: done }) => progress(done) }),
          }),
        );
      },
      follow: async (uri) => {
        if (era === "modern") await client.listen({ resourceSubscriptions: [uri] });
        else await client.subscribeResource({ uri });
      },
      setLevel: async (wanted) => {
        if (era === "modern") level = wanted;
        else await client.setLoggingLevel(wanted);
      },
      close: () => client.close(),
    };
  },
});

export const ASKABLE: readonly AskableKind[] = [
  ASKABLE_1,
  askable2("SDK 2.4 legacy", "legacy"),
  askable2("SDK 2.4 modern", "modern"),
];
