/** A question that comes in one piece with the answer before it, as on a pipe to a gateway that is busy. */
import { afterEach, expect, test } from "vitest";
import type { Client } from "../../../src/core/client.js";
import { openStdioChannel } from "../../../src/upstream/transport/stdio.js";
import { createUpstream, type StartableUpstream } from "../../../src/upstream/upstream.js";
import { serverConfig } from "../../support/fake-channel.js";
import { calling, client, resultOf } from "../../support/met-upstream.js";

/** `ask` is answered in the same write as the question after it; `told` returns the outcome of that question. */
const SERVER = `
let tell;
const told = new Promise((resolve) => { tell = resolve; });
require("node:readline").createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) return tell(result ?? error);
  if (id === undefined) return;
  const written = (message) => JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n";
  const answer = (result) => written({ id, result });
  if (method === "initialize") {
    const { protocolVersion } = params;
    process.stdout.write(answer({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }));
  } else if (method === "tools/call" && params.name === "ask") {
    process.stdout.write(answer({ content: [] }) + written({ id: "behind", method: "roots/list" }));
  } else if (method === "tools/call") process.stdout.write(answer({ content: [], told: await told }));
  else process.stdout.write(answer({ tools: [] }));
});`;

let upstream: StartableUpstream | undefined;
afterEach(async () => upstream?.close());

function started(owner: Client, roots: object): StartableUpstream {
  upstream = createUpstream(serverConfig({ protocol: "legacy" }), {
    gateway: { info: { name: "cardea", version: "1.2.3" } },
    questions: {
      directory: {
        find: (affinity) =>
          affinity === owner.affinity ? { client: owner, request: async () => ({ ...roots }) } : undefined,
      },
    },
    lifecycle: {
      openChannel: () =>
        openStdioChannel({
          name: "files",
          command: process.execPath,
          args: ["-e", SERVER],
          env: {},
          cwd: process.cwd(),
          graceMs: 400,
        }),
      random: () => 0.5,
    },
  });
  upstream.start();
  return upstream;
}

test("a question right after the response of the only call belongs to the session, and does not end with that call", async () => {
  const owner = client({ session: true, capabilities: { roots: {} } });
  const roots = { roots: [{ uri: "file:///home/ada" }] };
  const server = started(owner, roots);
  const call = async (name: string) =>
    resultOf(await server.call(calling({ params: { name, arguments: {} }, client: owner }).call));
  await call("ask");
  expect(await call("told")).toMatchObject({ told: roots });
});
