/** Reads the profiles of a file: named subsets of its servers. */
import type { ProfileConfig, ServerConfig } from "./config.js";
import type { Findings } from "./findings.js";
import { suggestion } from "./issues.js";
import { serverNames } from "./read-servers.js";
import { profileSchema } from "./schema.js";
import { type Section, settingsOf } from "./section.js";
import { treeAt } from "./tree.js";
import { describePath } from "./variables.js";

/** Reads and validates `profiles`; relative paths start at `folder`. */
export function readProfiles(
  findings: Findings,
  servers: readonly Pick<ServerConfig, "name">[],
  sections: readonly Section[],
  folder: string,
): Readonly<Record<string, ProfileConfig>> {
  const profiles = findings.tree.members.get("profiles")?.value;
  if (profiles === undefined) return {};
  if (profiles.kind !== "object") {
    findings.add(["profiles"], "profiles must be an object: a profile's name and what it shows");
    return {};
  }
  const schema = profileSchema(sections);
  const named = serverNames(findings.tree);
  const present = servers.map((server) => server.name);
  const entries: [string, ProfileConfig][] = [];
  for (const name of profiles.members.keys()) {
    checkName(findings, name, named);
    const path = ["profiles", name];
    const shape = findings.check(schema, treeAt(findings.tree, path), path);
    if (shape === undefined) continue;
    for (const [index, server] of (shape.servers ?? []).entries()) {
      if (named.includes(server)) continue;
      const message = `${describePath(path)} names an unknown server${suggestion(server, named)}`;
      findings.add([...path, "servers", index], message);
    }
    // A disabled server may stay in a profile; it is not shown.
    const shown = shape.servers?.filter((server) => present.includes(server)) ?? present;
    const { tools: written, prompts, resources } = shape;
    const { allow, deny } = written;
    entries.push([
      name,
      {
        servers: shown,
        tools: { allow, deny },
        prompts,
        resources,
        features: settingsOf(sections, "profile", shape, folder),
      },
    ]);
  }
  // Not by assignment: a profile may be called __proto__.
  return Object.fromEntries(entries);
}

function checkName(findings: Findings, name: string, servers: readonly string[]): void {
  if (!/^[\w.-]{1,64}$/.test(name)) {
    const message = "a profile's name must be 1 to 64 of the characters A-Z a-z 0-9 . _ -";
    findings.add(["profiles"], message, name);
  }
  if (servers.includes(name)) {
    const message = `profile ${JSON.stringify(name)} has the name of a server; both would be at /mcp/${name}`;
    findings.add(["profiles"], message, name);
  }
}
