/** What do the instructions of the gateway say of servers that are not available? */
import { isAvailable, type ServerCondition } from "../../core/server-condition.js";

/** How many servers have their reason; of the others the names stand there. */
const MAX_REASONS = 10;
const MAX_NAMES = 50;

/**
 * Undefined while all are available. A server in its first start counts as available: its tools arrive before a model needs them.
 *
 * @param uri of the resource with the states of servers, where hosts can read it
 */
export function absenceText(
  servers: readonly ServerCondition[],
  uri: string | undefined,
): string | undefined {
  const absent = servers.filter((server) => !isAvailable(server) && server.state !== "starting");
  if (absent.length === 0) return undefined;
  const [are, they] = absent.length === 1 ? ["This server was", "it is"] : ["These servers were", "they are"];
  return [
    `${are} not available when you connected, so tools may be missing from the lists until ${they} back:`,
    ...paragraphs(absent.slice(0, MAX_REASONS)),
    ...others(absent.slice(MAX_REASONS)),
    ...(uri === undefined ? [] : [`The resource ${uri} has the state of each server now.`]),
  ].join("\n\n");
}

/** One for each way to fix servers, with the servers that it is for. */
function paragraphs(absent: readonly ServerCondition[]): readonly string[] {
  const lines = new Map<string, string[]>();
  for (const { server, reason = "", action = "" } of absent) {
    const line = `- ${server}: ${reason}`;
    if (lines.get(action)?.push(line) === undefined) lines.set(action, [line]);
  }
  return [...lines].map(([action, each]) => [...each, "", action].join("\n"));
}

function others(absent: readonly ServerCondition[]): readonly string[] {
  if (absent.length === 0) return [];
  const named = absent.slice(0, MAX_NAMES).map(({ server }) => server);
  const rest = absent.length - named.length;
  return [`The same holds for ${named.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}.`];
}
