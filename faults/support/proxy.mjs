/** A TCP proxy that spoils the way back from a server: reset, ended, stalled, sliced, or refused from the start. */
import { connect, createServer } from "node:net";

/**
 * @param {string} target the URL of the server
 * `faults` may be changed at any time and holds for what comes next: `afterBytes` of the answer are passed on, then
 * `fault` happens: "reset" (RST), "end" (FIN), "stall". `afterHead` counts from the end of the head of the answer.
 * `sliceBytes` sends each piece in a packet of its own.
 */
export async function faultProxy(target, faults = {}) {
  const { hostname, port, pathname } = new URL(target);
  const sockets = new Set();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: hostname, port: Number(port), noDelay: true });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    let answered = 0;
    let limit;
    // What is spoiled is each answer, so the count begins again with each request on the connection.
    client.on("data", (bytes) => {
      answered = 0;
      limit = undefined;
      upstream.write(bytes);
    });
    client.once("end", () => upstream.end());
    upstream.on("data", (bytes) => {
      const { fault, sliceBytes, afterHead } = faults;
      const head = bytes.indexOf("\r\n\r\n");
      if (afterHead !== undefined && answered === 0 && head >= 0) limit = head + 4 + afterHead;
      const afterBytes = limit ?? faults.afterBytes ?? Number.POSITIVE_INFINITY;
      const rest = bytes.subarray(0, Math.max(0, afterBytes - answered));
      answered += bytes.length;
      if (sliceBytes === undefined) client.write(rest);
      else
        for (let at = 0; at < rest.length; at += sliceBytes) client.write(rest.subarray(at, at + sliceBytes));
      if (answered < afterBytes) return;
      if (fault === "reset") client.resetAndDestroy();
      if (fault === "end") client.end();
    });
    upstream.once("end", () => client.end());
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}${pathname}`,
    faults,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
