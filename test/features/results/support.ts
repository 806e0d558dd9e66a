/** A gateway with a budget in front of a server whose tools return what is too large for a model. */
import "../../../src/features/results/feature.js";
import { openGateway, type Running, type Server } from "../../support/open-gateway.js";
import type { Json } from "../../support/peers/host.js";
import type { RawHost } from "../../support/peers/raw.js";

const object = { type: "object", properties: {} };
const tool = (name: string, more: object = {}) => ({ name, inputSchema: object, ...more });

/** 3,000 lines of prose, each with its number. */
export const PROSE = Array.from({ length: 3_000 }, (_, at) => `line ${at}: the quick brown fox`).join("\n");
export const ROWS = Array.from({ length: 500 }, (_, id) => ({
  id,
  name: `person ${id}`,
  city: ["Oslo", "Lima", "Pune"][id % 3],
  note: "n".repeat(40),
}));
const IMAGE = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo".repeat(4_000) };
const text = (value: string) => ({ type: "text", text: value });

const RESULTS: Readonly<Record<string, Json>> = {
  prose: { content: [text(PROSE)] },
  small: { content: [text("a few words")], structuredContent: { words: 3 } },
  json: { content: [text(JSON.stringify({ total: 500, rows: ROWS }))] },
  structure: { content: [text(JSON.stringify({ rows: ROWS }))], structuredContent: { rows: ROWS } },
  log: {
    content: [
      text(
        Array.from(
          { length: 2_000 },
          (_, at) => `2026-11-28T10:00:${String(at % 60).padStart(2, "0")}Z INFO request ${at} done`,
        ).join("\n"),
      ),
    ],
  },
  table: {
    content: [
      text(["id,name,city", ...ROWS.map(({ id, name, city }) => `${id},${name},${city}`)].join("\n")),
    ],
  },
  page: {
    content: [
      text(
        `<!DOCTYPE html><html><head><style>p { color: red }</style></head><body><h1>Title &amp; more</h1>${"<p>A paragraph.</p>".repeat(900)}</body></html>`,
      ),
    ],
  },
  image: { content: [IMAGE] },
  line: { content: [text('\u0001"é'.repeat(20_000))] },
  failed: { content: [text(PROSE)], isError: true },
};

/** Its tools, and what they return. */
export const LARGE: Server = {
  tools: Object.keys(RESULTS).map((name) =>
    tool(
      name,
      name === "structure" || name === "small" ? { outputSchema: { type: "object", properties: {} } } : {},
    ),
  ),
  answer: ({ method, params }) => (method === "tools/call" ? RESULTS[String(params.name)] : undefined),
};

/** In tokens. */
export const BUDGET = 500;

export const opened = (
  config: object = { results: { maxTokens: BUDGET } },
  server = LARGE,
): Promise<Running> => openGateway({ big: server }, config);

let lastId = 0;
/** The result of a request. @throws Error for an error */
export async function ask(host: RawHost, method: string, params: Json): Promise<Json> {
  lastId += 1;
  const response = await host.send(`results-${lastId}`, method, params);
  if (response.error !== undefined) throw new Error(JSON.stringify(response.error));
  return response.result as Json;
}
export const call = (host: RawHost, name: string, args: Json = {}): Promise<Json> =>
  ask(host, "tools/call", { name, arguments: args });

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly uri?: string;
}
export const blocksOf = ({ content }: Json): readonly Block[] => content as Block[];
export const textOf = (result: Json): string => blocksOf(result)[0]?.text ?? "";
/** The id that a preview says. */
export function idOf(result: Json): string {
  const link = blocksOf(result).find(({ type }) => type === "resource_link");
  return link?.uri?.replace("cardea-result://", "") ?? "";
}
export const readOn = (host: RawHost, id: string, query: Json = {}): Promise<Json> =>
  call(host, "read_result", { id, ...query });
/** What a model receives of a result, in characters: no image, and nothing in `_meta`. */
export const sizeOf = ({ content, structuredContent }: Json): number =>
  JSON.stringify({ content, structuredContent }, (key, value) => (key === "data" ? "" : value)).length;
