/** Servers behind TLS, with certificates that are trusted and that are not. */
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { openHttpChannel } from "../../../src/upstream/transport/http.js";
import { HttpPool } from "../../../src/upstream/transport/http-pool.js";
import { CERTIFICATE, EXPIRED, KEY } from "../../support/certificates.js";

async function serve(cert: string): Promise<number> {
  const server: Server = createServer({ key: KEY, cert }, (_request, response) => {
    response
      .writeHead(200, { "content-type": "application/json" })
      .end('{"jsonrpc":"2.0","id":1,"result":{}}');
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

function call(url: string, ca?: string): Promise<unknown> {
  const pool = new HttpPool({
    url,
    connectTimeoutMs: 60_000,
    ...(ca !== undefined && { network: { tls: { ca } } }),
  });
  const channel = openHttpChannel({ name: "quiz", url, headers: {}, connectTimeoutMs: 60_000, pool });
  onTestFinished(() => channel.close());
  onTestFinished(() => pool.destroy());
  return channel.exchange({ jsonrpc: "2.0", id: 1, method: "ping" });
}

test("a server with a trusted certificate is called", async () => {
  const port = await serve(CERTIFICATE);
  expect(await call(`https://localhost:${port}/`, CERTIFICATE)).toMatchObject({ status: 200 });
});

test("a server with an untrusted certificate is not called, and the reason is reported", async () => {
  const good = await serve(CERTIFICATE);
  const expired = await serve(EXPIRED);
  const refused = (why: string, host: string) => ({
    code: "upstream_unavailable",
    message: `quiz cannot be reached: ${why} (${host})`,
  });
  await expect(call(`https://localhost:${good}/`)).rejects.toMatchObject(
    refused("its certificate is self-signed", `localhost:${good}`),
  );
  await expect(call(`https://localhost:${expired}/`, EXPIRED)).rejects.toMatchObject(
    refused("its certificate has expired", `localhost:${expired}`),
  );
  await expect(call(`https://127.0.0.1:${good}/`, CERTIFICATE)).rejects.toMatchObject(
    refused("its certificate is for another host", `127.0.0.1:${good}`),
  );
});
