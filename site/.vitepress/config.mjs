/** The documentation site. scripts/site.mjs copies its pages; the search index is part of it and needs no service. */
import { defineConfig } from "vitepress";

const page = (text, link) => ({ text, link });

export default defineConfig({
  title: "Cardea",
  description:
    "An MCP gateway: one endpoint in front of many servers, any host with any server of any revision.",
  srcDir: "./pages",
  outDir: "./dist",
  cacheDir: "./.cache",
  rewrites: { "README.md": "index.md" },
  // Files and folders of the repository that are no pages.
  ignoreDeadLinks: [
    /\/(src|test|faults|scripts|config|dashboards|decisions)\//,
    /LICENSE/,
    /Dockerfile/,
    /dashboards$/,
  ],
  lastUpdated: false,
  themeConfig: {
    search: {
      provider: "local",
      options: {
        miniSearch: {
          searchOptions: {
            // In short words a wrong letter makes another word: "dead" is not "read".
            fuzzy: (term) => (term.length > 5 ? 0.2 : false),
            // Pages that say what to do stand before tables of measurements. VitePress copies the text of this function into the page.
            boostDocument(id) {
              if (/^\/docs\/troubleshooting/.test(id)) return 6;
              if (/^\/docs\/(guides\/|start)/.test(id)) return 4;
              return /^\/(docs\/(decisions\/|faults|cluster-faults|conformance|hosts|peers)|bench\/|CHANGELOG)/.test(
                id,
              )
                ? 0.2
                : 1;
            },
          },
        },
      },
    },
    outline: [2, 3],
    sidebar: [
      {
        text: "Start",
        items: [
          page("Overview", "/"),
          page("The first ten minutes", "/docs/start"),
          page("Troubleshooting", "/docs/troubleshooting"),
          page("What is not supported", "/docs/not-supported"),
        ],
      },
      {
        text: "Guides",
        items: [
          page("Hide a tool", "/docs/guides/hide-a-tool"),
          page("Read-only access", "/docs/guides/read-only-teammate"),
          page("Approve writes", "/docs/guides/approve-writes"),
          page("Limit calls", "/docs/guides/limit-calls"),
          page("Connect a remote server", "/docs/guides/remote-server"),
          page("Run several gateways", "/docs/guides/several-machines"),
          page("Serve an OpenAPI document", "/docs/openapi"),
          page("Sign in to servers", "/docs/sign-in"),
          page("Sign hosts in", "/docs/sign-in-for-hosts"),
          page("The page of a person", "/docs/person-page"),
          page("Containers", "/docs/containers"),
          page("systemd and TLS", "/docs/service"),
        ],
      },
      {
        text: "Operations",
        items: [
          page("Upgrade and rollback", "/docs/upgrade"),
          page("Backup and restore", "/docs/backup"),
          page("Sizing", "/docs/sizing"),
          page("Tenants", "/docs/tenants"),
        ],
      },
      {
        text: "Reference",
        items: [
          page("Command line", "/docs/commands"),
          page("Config", "/config/reference"),
          page("Refusals and error codes", "/docs/errors"),
          page("Metrics, logs and alerts", "/docs/observability"),
          page("Traces", "/docs/traces"),
          page("Audit log", "/docs/audit"),
          page("Console", "/docs/console"),
          page("Admin API", "/docs/admin-api"),
        ],
      },
      {
        text: "In depth",
        items: [
          page("Authentication", "/docs/auth"),
          page("Policy", "/docs/policy"),
          page("Interactions between revisions", "/docs/interactions"),
          page("Servers on demand", "/docs/on-demand"),
          page("Working folders", "/docs/working-folders"),
          page("Tool search", "/docs/search"),
          page("Large results", "/docs/results"),
          page("Absent servers", "/docs/absent-servers"),
          page("Ranking of tools", "/docs/search-ranking"),
          page("Packages", "/docs/packages"),
          page("Sandbox", "/docs/sandbox"),
          page("Scan of definitions", "/docs/scan-rules"),
          page("Trust", "/docs/trust"),
          page("Flow", "/docs/flow"),
          page("Invisible text", "/docs/invisible-text"),
          page("Token costs", "/docs/tokens"),
          page("State on disk", "/docs/state"),
          page("Closed networks", "/docs/networks"),
          page("Secrets", "/docs/secrets"),
          page("Headers of hosts", "/docs/host-headers"),
          page("Quirks of logins", "/docs/sign-in-quirks"),
          page("Workers", "/docs/workers"),
          page("Clusters", "/docs/cluster"),
          page("Faults of clusters", "/docs/cluster-faults"),
          page("Tested hosts and servers", "/docs/peers"),
          page("Hosts that were run", "/docs/hosts"),
          page("Conformance", "/docs/conformance"),
          page("Faults and load", "/docs/faults"),
          page("Threat model", "/docs/threat-model"),
          page("Tests", "/docs/tests"),
          page("Architecture", "/ARCHITECTURE"),
          page("Adding a feature", "/docs/adding-a-feature"),
          page("Releasing", "/docs/releasing"),
          page("Changes", "/CHANGELOG"),
        ],
      },
    ],
  },
});
