/** What are the gateway's own tools, with which a host finds and calls tools that its list leaves out? */

import type { Route } from "../../core/call.js";
import type { JsonObject } from "../../wire/json.js";

/** Searches the tools of the client's view. */
export const FIND_TOOLS = "find_tools";
/** Calls a tool by the name that `find_tools` says. */
export const CALL_TOOL = "call_tool";

/** The names of the gateway's own tools, in the order of lists. */
export const SEARCH_TOOL_NAMES = [FIND_TOOLS, CALL_TOOL] as const;
/** One of `SEARCH_TOOL_NAMES`. */
export type SearchToolName = (typeof SEARCH_TOOL_NAMES)[number];
/** Whether a name is that of a tool of the gateway's own. */
export const isSearchTool = (name: string): name is SearchToolName =>
  name === FIND_TOOLS || name === CALL_TOOL;

/** What `detail` of `find_tools` can be. */
export const DETAILS = ["name", "brief", "schema"] as const;
/** The most tools that one search answers. */
export const MAX_FOUND = 50;

/** Hosts that defer definitions by themselves load these at once: a search for the search would take another round. */
const META: JsonObject = { "anthropic/alwaysLoad": true };

const FOUND_TOOL: JsonObject = {
  type: "object",
  properties: {
    name: { type: "string", description: "The name to call it by." },
    server: { type: "string" },
    title: { type: "string" },
    description: { type: "string", description: "Cut where inputSchema is left out." },
    inputSchema: { type: "object" },
  },
  required: ["name", "server", "description"],
};

/** The list entries of the gateway's own tools. They never change, so that prompt caches of hosts stay valid. */
export const SEARCH_TOOLS: Readonly<Record<SearchToolName, JsonObject>> = {
  [FIND_TOOLS]: {
    name: FIND_TOOLS,
    title: "Find tools",
    description:
      "Finds tools by what they do. The tools of the servers behind this gateway are not listed one by one: search here before you conclude that something cannot be done. Answers the best matches first, the first ones with their input schema. Call what you find with call_tool.",
    inputSchema: {
      type: "object",
      properties: {
        query: {
          type: "string",
          description:
            'What the tool should do, in a few words, such as "create a github issue". The exact name of a tool answers its definition. An empty text lists tools in order.',
        },
        server: { type: "string", description: "Only tools of this server." },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: MAX_FOUND,
          description: "The most tools to answer. Default: 8.",
        },
        detail: {
          type: "string",
          enum: DETAILS,
          description:
            "How much to answer of each tool: its name; a line about it; or its input schema too. Default: the schema of the first three, a line about the others.",
        },
      },
      required: ["query"],
      additionalProperties: false,
    },
    outputSchema: {
      type: "object",
      properties: {
        tools: { type: "array", items: FOUND_TOOL },
        total: { type: "integer", minimum: 0, description: "How many tools match in all." },
        unavailable: {
          type: "array",
          items: { type: "object" },
          description: "Servers that cannot be used now, and why: their tools may be missing here.",
        },
        next: { type: "string", description: "How to see the others." },
      },
      required: ["tools", "total"],
    },
    annotations: {
      title: "Find tools",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    _meta: META,
  },
  [CALL_TOOL]: {
    name: CALL_TOOL,
    title: "Call a tool",
    description:
      "Calls a tool that find_tools has found, and answers what the tool answers. The arguments are those of the tool's own input schema; find_tools with the tool's exact name shows it.",
    inputSchema: {
      type: "object",
      properties: {
        name: { type: "string", description: "The tool's exact name, as find_tools says it." },
        arguments: {
          type: "object",
          description: "The tool's arguments, as its input schema asks for them.",
          additionalProperties: true,
        },
      },
      required: ["name"],
      additionalProperties: false,
    },
    annotations: {
      title: "Call a tool",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    },
    _meta: META,
  },
};

/** The routes of calls that the gateway answers itself: they have no server. The same objects each time. */
export const SEARCH_ROUTES: Readonly<Record<SearchToolName, Route>> = {
  [FIND_TOOLS]: { upstream: "", target: FIND_TOOLS, exposed: FIND_TOOLS, kind: "tools" },
  [CALL_TOOL]: { upstream: "", target: CALL_TOOL, exposed: CALL_TOOL, kind: "tools" },
};
