/** Checks of the arguments and results of tools, by their schemas and by size (`checks` of a server). */
import type { Feature } from "../../cli/feature.js";
import type { LayeredServer, OpenFeature } from "../../core/feature.js";
import type { Logger } from "../../core/logger.js";
import type { ChecksConfig } from "./section.js";

/** Always there: a reload may add checks. */
export const schemaChecks: Feature = {
  name: "schema-checks",
  loadSections: async () => [(await import("./section.js")).section],
  open: async (_, { logger }) => openChecks(logger),
};

async function openChecks(logger: Logger): Promise<OpenFeature> {
  const { checkedArguments, checkedResults, ToolSchemas } = await import("./schema-checks.js");
  const schemas = new ToolSchemas(logger);
  return {
    name: "schema-checks",
    callLayers(servers) {
      const checks = new Map(
        servers.flatMap((server) => {
          const wanted = checksOf(server);
          return wanted === undefined ? [] : [[server.name, wanted] as const];
        }),
      );
      return checks.size === 0 ? {} : { checkArguments: checkedArguments(checks, schemas) };
    },
    serverLayers(server) {
      const checks = checksOf(server);
      return checks === undefined
        ? {}
        : { checkResults: checkedResults({ server: server.name, checks, schemas }) };
    },
    async argumentsFault({ route, params }, server) {
      if (route?.kind !== "tools" || checksOf(server)?.arguments !== true) return undefined;
      return (await schemas.validate(route, "inputSchema", params.arguments))?.reason;
    },
    close: async () => {},
  };
}

const checksOf = ({ features }: LayeredServer): ChecksConfig | undefined =>
  features.checks as ChecksConfig | undefined;
