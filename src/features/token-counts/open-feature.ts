/** The token counts of one gateway; estimates are kept with the definitions that they are of. */
import { served } from "../../core/admin-page.js";
import type { OpenFeature, RunningGateway } from "../../core/feature.js";
import { OPERATOR_CLIENT } from "../../gateway/live-config.js";
import { readPrincipalQuery } from "../../gateway/views/explain.js";
import { PAGE, SERVER_MEMBERS } from "./admin.js";
import { DefinitionCosts } from "./definition-cost.js";
import { tokenReport } from "./report.js";

/** @param countsCalls whether the calls of the process say which tools are used: that of a command serves no host */
export function openFeature(countsCalls: boolean): OpenFeature {
  const costs = new DefinitionCosts();
  let gateway: RunningGateway | undefined;
  let since = new Date();
  const running = (): RunningGateway => {
    if (gateway === undefined) throw new Error("no gateway runs this feature");
    return gateway;
  };
  const listForOperator = () => running().pipeline().catalog.view(OPERATOR_CLIENT).list("tools");
  return {
    name: "token-counts",
    attach(attached) {
      gateway = attached;
      since = new Date();
    },
    pages: [
      served(PAGE, (query, signal) => {
        const attached = running();
        const calls = { since, of: (server: string) => attached.toolCalls(server) };
        return tokenReport(() => attached.pipeline(), {
          ...{ as: readPrincipalQuery(query), signal, costs },
          ...(countsCalls && { calls }),
        });
      }),
    ],
    serverMembers: {
      ...SERVER_MEMBERS,
      async read() {
        await costs.prepare(listForOperator());
        const tools = costs.byServer(listForOperator());
        return (server) => ({ tokens: tools.get(server)?.tokens ?? 0 });
      },
    },
    close: async () => {},
  };
}
