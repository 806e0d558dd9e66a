/** The ready line: where the gateway listens, and which servers are still starting; and what a person can do then. */
import type { Feature } from "./feature.js";
import type { RunningGateway } from "./run-files.js";
import { selfCommand } from "./self-command.js";

/** The end of a ready line: the starting servers, if any. */
export const stillStarting = (servers: readonly string[]): string =>
  servers.length === 0 ? "" : `; still starting: ${servers.join(", ")}`;

/** The lines after it, on a terminal. */
export const hintsOf = (features: readonly Feature[], gateway: RunningGateway): readonly string[] => [
  ...features.flatMap((feature) => feature.readyHint?.(gateway, selfCommand().shown) ?? []),
  `a host gets it with: ${selfCommand().shown} install HOST, such as claude-code; others take the URL`,
];
