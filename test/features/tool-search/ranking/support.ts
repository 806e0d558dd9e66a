/** Tools as a list shows them, for the search. */
import type {
  SearchableServer,
  SearchableTool,
} from "../../../../src/features/tool-search/ranking/tool-text.js";

export const server = (name: string, more: Partial<SearchableServer> = {}): SearchableServer => ({
  name,
  ...more,
});

export const tool = (
  name: string,
  description: string,
  {
    of = server("files"),
    parameters = {},
  }: { of?: SearchableServer; parameters?: Record<string, string> } = {},
): SearchableTool => ({
  name,
  server: of,
  tool: {
    name,
    description,
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(
        Object.entries(parameters).map(([key, text]) => [key, { type: "string", description: text }]),
      ),
    },
  },
});
