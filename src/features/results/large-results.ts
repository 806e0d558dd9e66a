/** Which tools without a budget have returned large results? For advice: what a budget would have saved since the start. */
import type { Call, Reply } from "../../core/call.js";
import type { Saving } from "../../core/feature.js";
import { type Budgets, CHARACTERS_PER_TOKEN } from "./budgets.js";
import { tokensOf } from "./preview/sizes.js";

/** The proposed budget (tokens). */
const PROPOSED = 5_000;
const PROPOSED_CHARACTERS = PROPOSED * CHARACTERS_PER_TOKEN;
/** Tools beyond that are not counted. */
const MAX_TOOLS = 1_000;
/** How many tools of a server are named. */
const MAX_NAMED = 3;

/** Results of one tool that were over the proposed budget. */
interface LargeResult {
  readonly server: string;
  readonly tool: string;
  results: number;
  /** What previews would have saved. */
  tokens: number;
}

/** Counts for one gateway. */
export class LargeResults {
  readonly #tools = new Map<string, LargeResult>();

  /** A call has its reply. The text of a result is not read: its length is that of its JSON. */
  readonly called = (call: Call, reply: Reply): void => {
    const { route, method } = call;
    if (method !== "tools/call" || route === undefined || reply.kind !== "result") return;
    const { members } = reply.result;
    if (members.length <= PROPOSED_CHARACTERS || route.upstream === "") return;
    // Images and audio have no budget.
    if (members.includes('"type":"image"') || members.includes('"type":"audio"')) return;
    const key = `${route.upstream}\n${route.target}`;
    let large = this.#tools.get(key);
    if (large === undefined) {
      if (this.#tools.size >= MAX_TOOLS) return;
      large = { server: route.upstream, tool: route.target, results: 0, tokens: 0 };
      this.#tools.set(key, large);
    }
    large.results += 1;
    large.tokens += tokensOf(members.length - PROPOSED_CHARACTERS);
  };

  /** A budget for each server with a tool that has none now. */
  savings(budgets: Budgets): readonly Saving[] {
    const servers = new Map<string, LargeResult[]>();
    for (const large of this.#tools.values()) {
      if (budgets.decides(large.server, large.tool)) continue;
      const own = servers.get(large.server) ?? [];
      servers.set(large.server, own);
      own.push(large);
    }
    return [...servers].map(([server, own]) => {
      const tools = own.toSorted((a, b) => b.tokens - a.tokens);
      const more = tools.length > MAX_NAMED ? " …" : "";
      return {
        key: `mcpServers.${server}.results.maxTokens`,
        value: PROPOSED,
        tokens: sumOf(own.map(({ tokens }) => tokens)),
        results: sumOf(own.map(({ results }) => results)),
        of: `${tools
          .slice(0, MAX_NAMED)
          .map(({ tool }) => tool)
          .join(", ")}${more}`,
      };
    });
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
