/** Advises settings that save tokens, from the cost of tools and their number of calls. */
import type { TokenReport, ToolTokens } from "../operator/token-report.js";
import type { Saving } from "../operator/token-savings.js";

/** A tool without calls for this time (seconds) may be unnecessary. */
export const DAY_SECONDS = 86_400;

/**
 * The settings that save tokens, the largest saving first; denying tools is advised only after a day of counted calls.
 */
export function tokenAdvice({ tools, savings, counted }: TokenReport): readonly Saving[] {
  const denials =
    counted === undefined || counted.seconds < DAY_SECONDS
      ? []
      : [...byServer(tools)].flatMap(([server, own]) => denialOf(server, own) ?? []);
  return [...savings, ...denials].toSorted((a, b) => b.tokens - a.tokens);
}

/** Undefined if all tools of the server were called, or the calls are unknown. */
function denialOf(server: string, tools: readonly ToolTokens[]): Saving | undefined {
  const unused = unusedTools(tools);
  if (unused.length === 0) return undefined;
  const tokens = sumOf(unused);
  const key = `mcpServers.${server}`;
  return unused.length === tools.length
    ? { key: `${key}.disabled`, value: true, tokens }
    : { key: `${key}.tools.deny`, value: unused.map(({ target }) => target), tokens };
}

/** The tools that were never called. */
export const unusedTools = (tools: readonly ToolTokens[]): readonly ToolTokens[] =>
  tools.filter(({ calls }) => calls === 0);

/** The tokens of several tools. */
export const sumOf = (tools: readonly ToolTokens[]): number =>
  tools.reduce((total, { tokens }) => total + tokens, 0);

/** The tools of each server. */
export function byServer(tools: readonly ToolTokens[]): ReadonlyMap<string, readonly ToolTokens[]> {
  const servers = new Map<string, ToolTokens[]>();
  for (const tool of tools) {
    const own = servers.get(tool.server) ?? [];
    servers.set(tool.server, own);
    own.push(tool);
  }
  return servers;
}
