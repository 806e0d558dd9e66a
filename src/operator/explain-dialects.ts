/** How is the input schema of a tool listed for families of models, and what of it is left out? For `cardea explain`. */
import { reshape } from "../catalog/dialects/reshape.js";
import type { Config, DialectConfig } from "../config/config.js";
import type { Route } from "../core/call.js";
import { objectAt } from "../wire/json.js";

/** One URL where the schema is listed in another form. */
export interface ReshapedSchema {
  /** The path of the URL, such as `/mcp` or `/mcp/NAME`. */
  readonly at: string;
  readonly dialect: DialectConfig;
  /** What is different, a sentence each. */
  readonly changes: readonly string[];
}

/** The URLs that list the tool in another form. */
export function reshapedSchemas(
  { kind, upstream, item, overriddenItem }: Route,
  { listen, dialect: all = "none", servers, profiles }: Config,
): readonly ReshapedSchema[] {
  const schema = objectAt(overriddenItem ?? item, "inputSchema");
  if (kind !== "tools" || schema === undefined) return [];
  const { path } = listen.http;
  const own = servers.find(({ name }) => name === upstream)?.dialect;
  const urls: readonly (readonly [string, DialectConfig])[] = [
    [path, all],
    [`${path}/${upstream}`, own ?? all],
    ...Object.entries(profiles)
      .filter(([, profile]) => profile.servers.includes(upstream))
      .map(([name, { dialect }]) => [`${path}/${name}`, dialect ?? all] as const),
  ];
  return urls.flatMap(([at, dialect]) => {
    if (dialect === "none") return [];
    const { changes } = reshape(schema, dialect);
    return changes.length === 0 ? [] : [{ at, dialect, changes }];
  });
}
