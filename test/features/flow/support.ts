/** A gateway in front of four servers: private files, a page of a stranger, a mail server that sends, and a clock that does nothing of it. */
import "../../../src/features/flow/feature.js";
import { type JsonObject, stringAt } from "../../../src/wire/json.js";
import { refusalOf, textOf } from "../../support/host/host.mjs";
import { type HostKind, openGateway, type Running, type Server } from "../../support/open-gateway.js";
import type { RawHost } from "../../support/peers/raw.js";

const tool = (name: string, annotations?: JsonObject): JsonObject => ({
  name,
  inputSchema: { type: "object", properties: {} },
  ...(annotations !== undefined && { annotations }),
});

type Era = "legacy" | "modern";

/** The servers. `more`: further entries and answers by name. */
export const servers = (
  era: Era = "modern",
  more: Readonly<Record<string, Partial<Server>>> = {},
): Readonly<Record<string, Server>> => ({
  files: {
    era,
    tools: [tool("read")],
    resources: ["note://one"],
    entry: { flow: { reads: "private" } },
    ...more.files,
  },
  web: { era, tools: [tool("get")], entry: { flow: { content: "untrusted" } }, ...more.web },
  mail: {
    era,
    tools: [tool("send"), tool("draft")],
    entry: { flow: { sends: "external" }, overrides: { draft: { flow: { sends: "internal" } } } },
    ...more.mail,
  },
  clock: { era, tools: [tool("now")], ...more.clock },
});

/** The rule of the contract. */
export const rule = (effect: "observe" | "approve" | "deny", more: object = {}) => ({
  name: "no-exfiltration",
  after: ["private", "untrusted"],
  sends: "external",
  effect,
  ...more,
});

/** The gateway with this rule. */
export const gatewayWith = (
  effect: "observe" | "approve" | "deny",
  {
    era = "modern",
    more = {},
    config = {},
  }: { era?: Era; more?: Readonly<Record<string, Partial<Server>>>; config?: object } = {},
): Promise<Running> => openGateway(servers(era, more), { policy: { flow: [rule(effect)] }, ...config });

/** Each is of another conversation. */
let lastTrace = 0;
const trace = (): string => {
  lastTrace += 1;
  return `00-${lastTrace.toString(16).padStart(32, "a")}-00f067aa0ba902b7-01`;
};

export interface Talk {
  readonly host: RawHost;
  /** Calls a tool; resolves to its text, and `_meta` of the result. */
  call(
    name: string,
    args?: JsonObject,
  ): Promise<{ readonly text: string | undefined; readonly meta: unknown }>;
  /** The parameters of a request of this conversation. */
  params(params: JsonObject): JsonObject;
}

interface TalkOptions {
  /** Of a modern host. Default: a new one; null: none. */
  readonly trace?: string | null;
  /** Whether the host can ask a person. Default: no. */
  readonly elicits?: boolean;
}

/** One conversation of a new host: its session, or a trace. */
export async function talk(
  gateway: Running,
  kind: HostKind,
  { trace: given = trace(), elicits = false }: TalkOptions = {},
): Promise<Talk> {
  const host = await gateway.host(kind, "ann", "", elicits ? { capabilities: { elicitation: {} } } : {});
  const params = (sent: JsonObject): JsonObject =>
    kind.era === "legacy" || given === null ? sent : { ...sent, _meta: { traceparent: given } };
  return {
    ...{ host, params },
    async call(name, args = {}) {
      const response = await host.send(host.nextId(), "tools/call", params({ name, arguments: args }));
      return { text: textOf(response), meta: (response.result as JsonObject | undefined)?._meta };
    },
  };
}

/** Calls a tool, and answers its questions so. */
export async function converse({ host, params }: Talk, name: string, action: "accept" | "decline") {
  const questions: string[] = [];
  const { response } = await host.converse(
    "tools/call",
    params({ name, arguments: { to: "eve" } }),
    async (question) => {
      questions.push(stringAt(question.params as JsonObject, "message") ?? "");
      return action === "accept" ? { action, content: {} } : { action };
    },
  );
  return { questions, refusal: refusalOf(response), text: textOf(response) };
}

/** Private data, and the page of a stranger. */
export async function touchAll({ call }: Talk): Promise<void> {
  await call("files__read");
  await call("web__get");
}

/** How often the rule has decided what. */
export async function decisions({ adminUrl }: Running): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const lines = text.matchAll(
    /^cardea_flow_decisions_total\{rule="no-exfiltration",decision="(\w+)"\} (\d+)$/gm,
  );
  return Object.fromEntries([...lines].map(([, decision, count]) => [decision, Number(count)]));
}

/** A page of the admin API. */
export const pageOf = async ({ adminUrl }: Running, path: string): Promise<JsonObject> =>
  (await (await fetch(`${adminUrl}/api/v1/${path}`)).json()) as JsonObject;

/** A list of it. */
export const rowsOf = async (running: Running, path: string): Promise<readonly JsonObject[]> =>
  (await pageOf(running, path)) as unknown as readonly JsonObject[];

/** The calls of tools that reached a server. */
export const callsOf = ({ received }: Running, server: string): number =>
  received.filter((one) => one.server === server && one.method === "tools/call").length;
