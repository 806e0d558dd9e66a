/** Which servers that cannot be used now may have what a search is for? */
import type { ExposedItem, IntroducedServer } from "../../core/list-transform.js";
import type { ServerCondition } from "../../core/server-condition.js";
import { stringAt } from "../../wire/json.js";

/** The most servers of one answer. */
const MAX_ABSENT = 20;
/** Searched characters of a server's instructions: they begin with its subject. */
const MAX_INSTRUCTIONS = 500;
/** What a word in the name counts; one in the description counts 1. */
const NAME_WEIGHT = 3;

/**
 * The conditions of servers, the best matches first, ties in the order of the config. A server whose tools are known is left out
 * unless it matches, or one of its tools was found.
 *
 * @param absent servers that cannot be used now
 */
export async function absentServers(
  absent: readonly IntroducedServer[],
  query: string,
  found: readonly ExposedItem[],
): Promise<readonly ServerCondition[]> {
  if (absent.length === 0) return [];
  const { termsOf } = await import("./ranking/terms.js");
  const wanted = new Set(termsOf(query));
  const count = (text: string): number =>
    [...new Set(termsOf(text))].filter((term) => wanted.has(term)).length;
  const scored = absent.map((server) => {
    const { name, facts } = server;
    const texts = ["title", "description"].map((member) => stringAt(facts?.serverInfo, member) ?? "");
    const about = [...texts, (facts?.instructions ?? "").slice(0, MAX_INSTRUCTIONS)].join(" ");
    return { server, score: NAME_WEIGHT * count(name) + count(about) };
  });
  const hasFound = ({ name }: IntroducedServer): boolean =>
    found.some(({ route }) => route.upstream === name);
  return scored
    .filter(({ server, score }) => !server.hasListed || score > 0 || hasFound(server))
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_ABSENT)
    .map(({ server }) => server.condition);
}
