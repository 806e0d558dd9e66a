/** Which settings shorten the definition of a tool, for `cardea explain`. */

import type { ExplainedTool, SettingsOfFeatures } from "../../core/feature.js";
import { definitionTokens } from "../../core/token-estimate.js";
import { type JsonObject, stringAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { shorteningOf } from "./forms.js";

/** A size before and after. */
interface Shortened {
  readonly from: number;
  readonly to: number;
}

/** The shortened members, each with the responsible setting; unchanged members are absent. */
export interface ShortenedDefinition {
  /** In characters, by `descriptions.maxLength`. */
  readonly description?: Shortened;
  /** As JSON, in characters, by `schemas.compact`. */
  readonly inputSchema?: Shortened;
  readonly outputSchema?: Shortened;
  /** An o200k estimate of the whole definition. */
  readonly tokens: Shortened;
}

/** Undefined if hosts see the whole definition. */
export function shortenedDefinition(
  { route, definition: whole }: Pick<ExplainedTool, "route" | "definition">,
  { servers, features }: Pick<SettingsOfFeatures, "servers" | "features">,
): ShortenedDefinition | undefined {
  const { upstream, exposed, overriddenItem: shown } = route;
  const server = servers.find(({ name }) => name === upstream);
  if (whole === undefined || shown === undefined || server === undefined) return undefined;
  if (shorteningOf(server.features, features) === undefined) return undefined;
  const description = shortened(textLength(whole), textLength(shown));
  const inputSchema = shortened(schemaLength(whole, "inputSchema"), schemaLength(shown, "inputSchema"));
  const outputSchema = shortened(schemaLength(whole, "outputSchema"), schemaLength(shown, "outputSchema"));
  if ([description, inputSchema, outputSchema].every((change) => change === undefined)) return undefined;
  const tokens = (entry: JsonObject): number => definitionTokens({ ...entry, name: exposed });
  return {
    ...(description !== undefined && { description }),
    ...(inputSchema !== undefined && { inputSchema }),
    ...(outputSchema !== undefined && { outputSchema }),
    tokens: { from: tokens(whole), to: tokens(shown) },
  };
}

const shortened = (from: number, to: number): Shortened | undefined =>
  from === to ? undefined : { from, to };

const textLength = (item: JsonObject): number => stringAt(item, "description")?.length ?? 0;

const schemaLength = (item: JsonObject, member: string): number =>
  Object.hasOwn(item, member) ? writeJson(item[member]).length : 0;
