/** What a server lists, asked without Cardea, and by which names two of its versions differ. */
import { isDeepStrictEqual } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const LISTS = {
  tools: { list: "listTools", key: "name" },
  prompts: { list: "listPrompts", key: "name" },
  resources: { list: "listResources", key: "uri" },
  resourceTemplates: { list: "listResourceTemplates", key: "uriTemplate" },
};

/** All lists of a server, each a map from its names, as a host without capabilities sees them. */
async function listsOf({ command, args, cwd, env }) {
  const client = new Client({ name: "lock-real", version: "1.0.0" });
  const whole = { ...process.env, ...env };
  await client.connect(new StdioClientTransport({ command, args, cwd, env: whole, stderr: "ignore" }));
  try {
    const capabilities = client.getServerCapabilities() ?? {};
    const found = {};
    for (const [kind, { list, key }] of Object.entries(LISTS)) {
      const isThere = capabilities[kind === "resourceTemplates" ? "resources" : kind] !== undefined;
      const items = isThere ? ((await client[list]())[kind] ?? []) : [];
      found[kind] = new Map(items.map((item) => [item[key], item]));
    }
    return { ...found, instructions: client.getInstructions(), info: client.getServerVersion()?.name };
  } finally {
    await client.close();
  }
}

/** `changed tools search`, `new tools read`, …: by what the server of `after` differs from that of `before`, sorted. */
export async function expectedDifferences(before, after) {
  const [was, is] = [await listsOf(before), await listsOf(after)];
  const found = ["changed start "];
  if (was.info !== is.info) found.push("changed name ");
  if (was.instructions !== is.instructions)
    found.push(
      `${was.instructions === undefined ? "new" : is.instructions === undefined ? "removed" : "changed"} instructions `,
    );
  for (const kind of Object.keys(LISTS)) {
    for (const [name, item] of is[kind]) {
      const earlier = was[kind].get(name);
      if (earlier === undefined) found.push(`new ${kind} ${name}`);
      else if (!isDeepStrictEqual(earlier, item)) found.push(`changed ${kind} ${name}`);
    }
    for (const name of was[kind].keys()) if (!is[kind].has(name)) found.push(`removed ${kind} ${name}`);
  }
  return found.sort();
}
