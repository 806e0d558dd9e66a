/** What a server lists, asked without Cardea, and by which names two of its versions differ. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";

/** By kind: the method, the capability that announces it, and the member that names an entry. */
const LISTS = {
  tools: { method: "tools/list", of: "tools", key: "name" },
  prompts: { method: "prompts/list", of: "prompts", key: "name" },
  resources: { method: "resources/list", of: "resources", key: "uri" },
  resourceTemplates: { method: "resources/templates/list", of: "resources", key: "uriTemplate" },
};

/** A host of 2025-06-18 without capabilities that reads whatever a server sends. */
function hostOf({ command, args, cwd, env }) {
  const server = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const open = new Map();
  createInterface({ input: server.stdout }).on("line", (line) => {
    if (!line.startsWith("{")) return;
    const { id, result = {} } = JSON.parse(line);
    open.get(id)?.(result);
    open.delete(id);
  });
  const send = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  let last = 0;
  return {
    notify: (method) => send({ method }),
    request(method, params = {}) {
      last += 1;
      const id = last;
      send({ id, method, params });
      return new Promise((resolve) => open.set(id, resolve));
    },
    async end() {
      const exited = once(server, "exit");
      server.stdin.end();
      server.kill();
      await exited;
    },
  };
}

async function listsOf(entry) {
  const host = hostOf(entry);
  try {
    const clientInfo = { name: "lock-real", version: "1.0.0" };
    const greeting = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    const { capabilities = {}, instructions, serverInfo } = await host.request("initialize", greeting);
    host.notify("notifications/initialized");
    const lists = {};
    for (const [kind, { method, of, key }] of Object.entries(LISTS)) {
      lists[kind] = new Map();
      if (capabilities[of] === undefined) continue;
      for (let cursor; ; ) {
        const page = await host.request(method, cursor === undefined ? {} : { cursor });
        // A tool without an input schema for an object is no tool (2025-06-18, schema), and hosts refuse it.
        for (const item of page[kind] ?? [])
          if (kind !== "tools" || item.inputSchema?.type === "object") lists[kind].set(item[key], item);
        cursor = page.nextCursor;
        if (cursor === undefined) break;
      }
    }
    return { lists, instructions, name: serverInfo?.name };
  } finally {
    await host.end();
  }
}

/** `changed tools search`, `new tools read`, …: by what the server of `after` differs from that of `before`, sorted. */
export async function expectedDifferences(before, after) {
  const [was, is] = [await listsOf(before), await listsOf(after)];
  const changeOf = (earlier, later) =>
    earlier === undefined ? "new" : later === undefined ? "removed" : "changed";
  const found = ["changed start "];
  for (const kind of ["name", "instructions"])
    if (was[kind] !== is[kind]) found.push(`${changeOf(was[kind], is[kind])} ${kind} `);
  for (const kind of Object.keys(LISTS)) {
    const [earlier, later] = [was.lists[kind], is.lists[kind]];
    for (const name of new Set([...earlier.keys(), ...later.keys()])) {
      const [one, other] = [earlier.get(name), later.get(name)];
      if (!isDeepStrictEqual(one, other)) found.push(`${changeOf(one, other)} ${kind} ${name}`);
    }
  }
  return found.sort();
}
