/** A balancer that knows nothing of MCP: each request goes to the next of several listeners. */
import { createServer, request as open } from "node:http";
import type { AddressInfo } from "node:net";

export interface RoundRobin {
  readonly url: string;
  close(): Promise<void>;
}

export async function roundRobin(targets: () => readonly string[]): Promise<RoundRobin> {
  let next = 0;
  const server = createServer((request, response) => {
    const all = targets();
    const target = all[next % all.length] ?? "";
    next += 1;
    const forwarded = open(
      new URL(request.url ?? "/", target),
      { method: request.method, headers: request.rawHeaders, agent: false, setHost: false },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        response.flushHeaders();
        answer.once("error", () => response.destroy());
        answer.pipe(response);
      },
    );
    forwarded.once("error", () => response.destroy());
    response.once("close", () => forwarded.destroy());
    request.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
