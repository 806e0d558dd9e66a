/** What is the gateway's own tool, with which hosts read results that were too large, and what are the URIs of these? */
import type { Route } from "../../core/call.js";
import type { JsonObject } from "../../wire/json.js";

/** Reads a kept result on. */
export const READ_RESULT = "read_result";
/** What the URIs of kept results begin with; the id follows. */
export const RESULT_SCHEME = "cardea-result://";

/** Whether a URI is one of a kept result, in any case that peers write schemes in. */
export const isResultUri = (uri: string): boolean =>
  uri.length >= RESULT_SCHEME.length && uri.slice(0, RESULT_SCHEME.length).toLowerCase() === RESULT_SCHEME;

/** The route of calls of the tool, and of reads of the URIs: they have no server. */
export const READ_TOOL_ROUTE: Route = {
  upstream: "",
  target: READ_RESULT,
  exposed: READ_RESULT,
  kind: "tools",
};
export const READ_RESOURCE_ROUTE: Route = {
  upstream: "",
  target: RESULT_SCHEME,
  exposed: RESULT_SCHEME,
  kind: "resources",
};

/** The list entry of the tool. It never changes, so that prompt caches of hosts stay valid. */
export const READ_RESULT_TOOL: JsonObject = {
  name: READ_RESULT,
  title: "Read a result",
  description:
    "Reads a result of another tool that was too large to be shown whole. Its preview names the id. Text is read by lines, JSON by items, a page at a time; search finds the right place.",
  inputSchema: {
    type: "object",
    properties: {
      id: { type: "string", description: "The id that the preview says." },
      offset: {
        type: "integer",
        minimum: 0,
        description: "The first line or item, counted from 0; with search the first match. Default: 0.",
      },
      limit: {
        type: "integer",
        minimum: 1,
        description: "The most lines, items or matches. Default: as many as fit.",
      },
      path: {
        type: "string",
        description:
          "A JSON pointer to a part: /rows/7 in JSON text, or /structuredContent/rows/7, /content/0/text in the result.",
      },
      search: {
        type: "string",
        description:
          "Only what contains this text, in any case, with its place; /…/ or /…/i is a regular expression (RE2).",
      },
    },
    required: ["id"],
    additionalProperties: false,
  },
  outputSchema: {
    type: "object",
    properties: {
      text: { type: "string", description: "The page." },
      total: { type: "integer", minimum: 0, description: "How many lines, items or matches there are." },
      offset: { type: "integer", minimum: 0 },
      next: { type: "integer", minimum: 0, description: "The offset of the next page; absent at the end." },
      unit: { type: "string", enum: ["lines", "items"] },
    },
    required: ["text", "total", "offset", "unit"],
  },
  annotations: {
    title: "Read a result",
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  _meta: { "anthropic/alwaysLoad": true },
};
