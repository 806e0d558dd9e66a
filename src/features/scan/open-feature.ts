/** The scan of the definitions of one gateway's servers, when it is asked for. */
import { served } from "../../core/admin-page.js";
import type { OpenFeature, RunningGateway } from "../../core/feature.js";
import { runSteps } from "../../runtime/cooperative-yield.js";
import { PAGE, type ScanReport } from "./admin.js";
import { knownDefinitions } from "./definitions.js";
import type { Definition } from "./finding.js";
import { findingsIn } from "./scan.js";

/** The page of the admin API, of the servers of the live config. */
export function openFeature(): OpenFeature {
  let gateway: RunningGateway | undefined;
  return {
    name: "scan",
    attach(attached) {
      gateway = attached;
    },
    pages: [
      served(PAGE, () => {
        if (gateway === undefined) throw new Error("no gateway runs this feature");
        return scanned(knownDefinitions(gateway.pipeline()));
      }),
    ],
    close: async () => {},
  };
}

/** Scans `definitions`; other work is done in between. */
export async function scanned(definitions: readonly Definition[]): Promise<ScanReport> {
  return {
    definitions: definitions.length,
    servers: [...new Set(definitions.map(({ server }) => server))],
    findings: await runSteps(findingsIn(definitions)),
  };
}
