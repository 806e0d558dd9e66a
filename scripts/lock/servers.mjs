/**
 * The servers of the npm registry that `npm run lock:real` locks: they start without credentials and without a network, over standard
 * streams. Each has an exact version, and three have an older one too.
 */

/** By name: the package, its version, perhaps an `older` one, and what stands behind the package in the start line. */
export const SERVERS = {
  everything: { package: "@modelcontextprotocol/server-everything", version: "2026.8.31" },
  files: {
    ...{ package: "@modelcontextprotocol/server-filesystem", version: "2026.8.31", older: "2025.8.21" },
    args: ["."],
  },
  memory: { package: "@modelcontextprotocol/server-memory", version: "2026.8.31" },
  thinking: { package: "@modelcontextprotocol/server-sequential-thinking", version: "2026.8.31" },
  github: { package: "@modelcontextprotocol/server-github", version: "2025.4.8" },
  map: { package: "@modelcontextprotocol/server-map", version: "2.0.3", args: ["--stdio"] },
  pdf: { package: "@sylphx/pdf-reader-mcp", version: "2.4.0" },
  git: {
    ...{ package: "@cyanheads/git-mcp-server", version: "2.15.3" },
    env: { MCP_TRANSPORT_TYPE: "stdio", LOGS_DIR: "." },
  },
  history: { package: "mcp-git", version: "0.0.4" },
  grep: { package: "mcp-ripgrep", version: "0.4.0" },
  "npx-fetch": { package: "@tokenizin/mcp-npx-fetch", version: "1.0.0" },
  fetch: { package: "mcp-fetch-server", version: "1.1.2" },
  desktop: { package: "@wonderwhy-er/desktop-commander", version: "0.2.52" },
  playwright: { package: "@playwright/mcp", version: "0.0.83", older: "0.0.78" },
  chrome: { package: "chrome-devtools-mcp", version: "1.11.0" },
  context7: { package: "@upstash/context7-mcp", version: "4.1.1", older: "3.2.5" },
  eslint: { package: "@eslint/mcp", version: "0.3.13" },
  chart: { package: "@antv/mcp-server-chart", version: "0.9.10" },
  commands: { package: "mcp-server-commands", version: "0.5.0" },
  notion: { package: "@notionhq/notion-mcp-server", version: "2.5.2" },
  mongodb: { package: "mongodb-mcp-server", version: "3.0.4" },
  mastra: { package: "@mastra/mcp-docs-server", version: "1.2.27" },
  weather: { package: "open-meteo-mcp-server", version: "2.1.0" },
  time: { package: "time-mcp", version: "1.0.6" },
  exa: { package: "exa-mcp-server", version: "3.4.1" },
  tasks: { package: "mcp-shrimp-task-manager", version: "1.0.21" },
  next: { package: "next-devtools-mcp", version: "0.4.0" },
  browser: { package: "@browsermcp/mcp", version: "0.1.3" },
  tavily: { package: "tavily-mcp", version: "0.2.22" },
  "playwright-execute": { package: "@executeautomation/playwright-mcp-server", version: "1.0.12" },
};
