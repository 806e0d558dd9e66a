/** The keys that sections of features are in the file, in servers, in profiles and in tools of `overrides`, with their schemas. */
import { z } from "zod";
import { keysOfChannels } from "./channel-section.js";
import { NO_SUCH_FEATURE } from "./missing-feature.js";
import { channelsOf, type Section, type SettingsSection, sectionsWithin } from "./section.js";

/** The keys of `sections` within the section `parent` of the gateway, or at the top, with their schemas; `where` the section stands. Default: in the file. */
export function keysWithin(
  sections: readonly Section[],
  parent?: string,
  where: SettingsSection["of"] = "file",
): Readonly<Record<string, z.ZodType>> {
  const all = sectionsWithin(sections, where);
  if (parent === undefined) return topKeys(all, where);
  const prefix = `${parent}.`;
  return Object.fromEntries(
    all.flatMap(({ path, schema }) => (path.startsWith(prefix) ? [[path.slice(prefix.length), schema]] : [])),
  );
}

/** The keys of `sections` in any server, with their schemas. */
export const keysOfServers = (sections: readonly Section[]): Readonly<Record<string, z.ZodType>> =>
  topKeys(sectionsWithin(sections, "server"), "server");

/** The sections of the gateway in which those of features stand; each has a schema of its own. */
const GATEWAY_SECTIONS: Readonly<Record<SettingsSection["of"], readonly string[]>> = {
  file: ["auth", "listen", "telemetry", "tools"],
  server: [],
  profile: ["tools"],
  tool: [],
};

/** Those at the top, each with what stands within it. */
function topKeys(
  sections: readonly SettingsSection[],
  where: SettingsSection["of"],
): Readonly<Record<string, z.ZodType>> {
  const names = new Set(sections.map(({ path }) => path.split(".")[0] ?? path));
  const own = [...names].filter((name) => !GATEWAY_SECTIONS[where].includes(name) || hasPath(sections, name));
  return Object.fromEntries(own.map((name) => [name, wholeSchema(sections, name)]));
}

const hasPath = (sections: readonly SettingsSection[], name: string): boolean =>
  sections.some(({ path }) => path === name);

/** The schema of the section `name`, with those within it; of these alone where no feature of the build has it. */
function wholeSchema(sections: readonly SettingsSection[], name: string): z.ZodType {
  const prefix = `${name}.`;
  const inner = Object.fromEntries(
    sections.flatMap(({ path, schema }) =>
      path.startsWith(prefix) ? [[path.slice(prefix.length), schema]] : [],
    ),
  );
  const own = sections.find(({ path }) => path === name)?.schema;
  if (Object.keys(inner).length === 0 && own !== undefined) return own;
  if (own === undefined) return ofOthersAlone(inner).exactOptional();
  const object = own instanceof z.ZodExactOptional ? own.unwrap() : own;
  if (!(object instanceof z.ZodObject)) throw new TypeError(`the section ${name} is no object`);
  return object
    .extend(inner)
    .exactOptional()
    .describe(own.description ?? "");
}

/** A section whose own feature is not built in: without a key of the others it would mean nothing. */
const ofOthersAlone = (inner: Readonly<Record<string, z.ZodType>>) =>
  z.strictObject(inner).refine((content) => Object.keys(content).length > 0, {
    when: ({ issues }) => issues.length === 0,
    error: `has none of its keys in this build (${Object.keys(inner).join(", ")})${NO_SUCH_FEATURE}`,
  });

/** The names of all keys of `sections` in servers. */
export const serverKeyNames = (sections: readonly Section[]): readonly string[] => [
  ...Object.keys(keysOfServers(sections)),
  ...Object.keys(keysOfChannels(channelsOf(sections))),
];
