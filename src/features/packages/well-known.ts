/** Packages of servers that many people run: what another package may be named like to be mistaken for one of them. */

const MCP = "@modelcontextprotocol/";

/** By ecosystem. A name is added when its publisher is known, and stays as long as the package is that publisher's. */
export const WELL_KNOWN: Readonly<Record<"npm" | "python", readonly string[]>> = {
  npm: [
    ...[
      "everything",
      "filesystem",
      "memory",
      "sequential-thinking",
      "github",
      "gitlab",
      "postgres",
      "slack",
    ].map((name) => `${MCP}server-${name}`),
    ...["puppeteer", "brave-search", "google-maps", "gdrive", "redis", "everart", "pdf", "map"].map(
      (name) => `${MCP}server-${name}`,
    ),
    ...[`${MCP}inspector`, "@playwright/mcp", "@upstash/context7-mcp", "@notionhq/notion-mcp-server"],
    ...[
      "@sentry/mcp-server",
      "@stripe/mcp",
      "@supabase/mcp-server-supabase",
      "@cloudflare/mcp-server-cloudflare",
    ],
    ...[
      "@azure/mcp",
      "@azure-devops/mcp",
      "@microsoft/devbox-mcp",
      "@heroku/mcp-server",
      "@elastic/mcp-server-elasticsearch",
    ],
    ...[
      "@browserbasehq/mcp-server-browserbase",
      "@executeautomation/playwright-mcp-server",
      "@agentdeskai/browser-tools-mcp",
    ],
    ...["@hubspot/mcp-server", "@shopify/dev-mcp", "@mapbox/mcp-server", "@circleci/mcp-server-circleci"],
    ...[
      "@brightdata/mcp",
      "@apify/actors-mcp-server",
      "@kazuph/mcp-fetch",
      "@wonderwhy-er/desktop-commander",
    ],
    ...[
      "@antv/mcp-server-chart",
      "@21st-dev/magic",
      "@smithery/cli",
      "@composio/mcp",
      "@zilliz/mcp-server-milvus",
    ],
    ...["chrome-devtools-mcp", "firecrawl-mcp", "figma-developer-mcp", "exa-mcp-server", "tavily-mcp"],
    ...[
      "mongodb-mcp-server",
      "mcp-remote",
      "mcp-server-kubernetes",
      "mcp-proxy",
      "obsidian-mcp",
      "xcodebuildmcp",
    ],
    ...[
      "@taazkareem/clickup-mcp-server",
      "@gongrzhe/server-gmail-autoauth-mcp",
      "@cocal/google-calendar-mcp",
    ],
    ...[
      "@angular/cli",
      "@storybook/mcp",
      "@nuxt/mcp",
      "@svelte/mcp",
      "@netlify/mcp",
      "@railway/mcp-server",
      "vercel-mcp",
    ],
  ],
  python: [
    ...["mcp-server-fetch", "mcp-server-git", "mcp-server-time", "mcp-server-sqlite", "mcp-server-sentry"],
    ...[
      "mcp-server-qdrant",
      "mcp-atlassian",
      "mcp-proxy",
      "mcp-clickhouse",
      "mcp-neo4j-cypher",
      "mcp-server-docker",
    ],
    ...[
      "markitdown-mcp",
      "duckduckgo-mcp-server",
      "arxiv-mcp-server",
      "basic-memory",
      "blender-mcp",
      "ableton-mcp",
    ],
    ...["awslabs.core-mcp-server", "awslabs.aws-documentation-mcp-server", "awslabs.cdk-mcp-server"],
    ...["awslabs.aws-api-mcp-server", "awslabs.cost-analysis-mcp-server", "postgres-mcp", "mysql-mcp-server"],
    ...[
      "excel-mcp-server",
      "office-word-mcp-server",
      "serena-agent",
      "browser-use",
      "fastmcp",
      "kubectl-mcp-tool",
    ],
  ],
};
