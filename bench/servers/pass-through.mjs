/** The ruler: a reverse proxy on node:http that pipes bodies and knows nothing of MCP. `node pass-through.mjs PORT` */
import { Agent, createServer, request } from "node:http";

const port = Number(process.argv[2]);
const agent = new Agent({ keepAlive: true, maxSockets: 256 });

const server = createServer((downstream, response) => {
  const upstream = request(
    {
      host: "127.0.0.1",
      port,
      agent,
      method: downstream.method,
      path: downstream.url,
      headers: downstream.headers,
    },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    },
  );
  upstream.on("error", () => response.writeHead(502).end());
  downstream.pipe(upstream);
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
