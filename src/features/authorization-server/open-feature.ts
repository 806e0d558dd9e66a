/** The authorization server of a gateway, by what it plugs into it. */
import { join } from "node:path";
import type { FeatureContext } from "../../cli/feature.js";
import type { HostRoute, OpenFeature, RunningGateway } from "../../core/feature.js";
import { LiveAuthorizationServer } from "./live-authorization-server.js";
import { COUNTERS, countedHostSignIns } from "./metrics.js";
import { type AuthorizationServerEndpoint, ENDPOINT_PATHS, SERVER_METADATA_PATH } from "./paths.js";

/** Nothing is loaded before the first request to it, or the first token of it. */
export function openFeature({
  stateFolder,
  logger,
  redact,
}: Pick<FeatureContext, "stateFolder" | "logger" | "redact">): OpenFeature {
  let attached: RunningGateway | undefined;
  const gateway = (): RunningGateway => {
    if (attached === undefined) throw new TypeError("there is no gateway yet");
    return attached;
  };
  const server = new LiveAuthorizationServer({
    ...{ gateway, logger },
    folder: stateFolder === undefined ? undefined : join(stateFolder, "credentials"),
    onSignIn: countedHostSignIns(gateway, redact),
  });
  const routeTo = (endpoint: AuthorizationServerEndpoint, path: string): HostRoute => ({
    path,
    asker: PAGES.includes(endpoint) ? "browser" : "program",
    serve: (request, response) => server.serve(endpoint, request, response),
  });
  return {
    name: "authorization-server",
    attach(running) {
      attached = running;
    },
    tokenIssuer: server,
    personSessions: server.sessions,
    routes: [
      routeTo("metadata", SERVER_METADATA_PATH),
      routeTo("metadata", `${SERVER_METADATA_PATH}/*`),
      ...ENDPOINTS.map((endpoint) => routeTo(endpoint, ENDPOINT_PATHS[endpoint])),
    ],
    counters: COUNTERS,
    close: async () => {},
  };
}

const ENDPOINTS = Object.keys(ENDPOINT_PATHS) as readonly (keyof typeof ENDPOINT_PATHS)[];
/** A person's browser opens these; the others are asked by programs. */
const PAGES: readonly AuthorizationServerEndpoint[] = ["authorize", "callback"];
