/** The section `cluster`. */
import { sectionOf } from "../../config/section.js";
import { clusterFaults, completeCluster, notShared, secretsOfCluster } from "./config.js";
import { clusterSchema } from "./schema.js";

export const section = sectionOf({
  path: "cluster",
  schema: clusterSchema
    .exactOptional()
    .describe(
      "Several gateways as one, on several machines behind a load balancer (`docs/cluster.md`). A change needs a restart.",
    ),
  change: "restart",
  after: "telemetry",
  complete: completeCluster,
  faultsOf: clusterFaults,
  warningsOf: notShared,
  secretsOf: secretsOfCluster,
});
