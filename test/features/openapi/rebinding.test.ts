/** Where may connections lead that a fetched document names? The addresses are those of the moment. */
import { expect, test, vi } from "vitest";
import { documentOf, startApi } from "../../support/api.js";
import { openApi } from "./open-api.js";

const addresses = vi.hoisted(() => ({ of: [] as { address: string; family: number }[] }));
vi.mock("node:dns", async (load) => {
  const dns = await load<typeof import("node:dns")>();
  const lookup = (name: string, options: object, done: (...found: unknown[]) => void): void => {
    if (name === "api.example.com") done(null, addresses.of);
    else (dns.lookup as (...args: unknown[]) => void)(name, options, done);
  };
  return { ...dns, default: { ...dns, lookup }, lookup };
});

const ok = { responses: { 200: { description: "ok" } } };

test.each([
  ["this machine", ["127.0.0.1"]],
  ["the own network beside a public address", ["93.184.215.14", "10.0.0.7"]],
  ["an IPv4 address of this machine in IPv6", ["::ffff:127.0.0.1"]],
  ["metadata of a cloud", ["169.254.169.254"]],
  ["a private IPv6 network", ["fd00::1"]],
  ["any address of this machine", ["0.0.0.0"]],
  ["any IPv6 address of this machine", ["::"]],
  ["this machine behind NAT64", ["64:ff9b::7f00:1"]],
  ["this machine by 6to4", ["2002:7f00:1::"]],
  ["a network between carriers", ["100.64.0.1"]],
])("a public name that leads to %s is not connected to", async (_, found) => {
  const target = await startApi();
  const { port } = new URL(target.url);
  const servers = [{ url: `http://api.example.com:${port}/` }];
  const document = documentOf({ "/a": { get: { operationId: "a", ...ok } } }, { servers });
  const host = await startApi(() => ({ body: JSON.stringify(document) }));
  // When the document is read the name is public.
  addresses.of = [{ address: "93.184.215.14", family: 4 }];
  const { call } = await openApi({}, { document: { url: `${host.url}/openapi.json` } });
  addresses.of = found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  await expect(call("a")).rejects.toMatchObject({
    code: "upstream_unavailable",
    message: expect.stringContaining("api.example.com is an address of this machine or of a private network"),
  });
  expect(target.asked).toEqual([]);
});
