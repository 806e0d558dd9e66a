/**
 * Hosts that open a stream of changes and do nothing else, until standard input ends. Prints a line when all are open. `node streams.mjs '{"url","era","streams","key"}'`
 */
import { openHost } from "./hosts.mjs";

const { url, era, streams, key } = JSON.parse(process.argv[2]);
const start = performance.now();
const hosts = [];
/** A backlog of connections that overflows waits a second, so not all at once. */
while (hosts.length < streams) {
  const some = Array.from({ length: Math.min(100, streams - hosts.length) }, async () => {
    const host = await openHost(url, era, { key });
    await host.follow({ toolsListChanged: true }, () => {});
    host.wire.rest();
    return host;
  });
  hosts.push(...(await Promise.all(some)));
}
process.stdout.write(`${JSON.stringify({ ms: performance.now() - start })}\n`);
process.stdin.once("end", () => process.exit(0));
process.stdin.resume();
