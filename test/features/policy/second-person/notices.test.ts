/** Notices of approvals, from the call to a receiver that checks signatures by the text of Standard Webhooks. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { testOf } from "../../../support/features.js";
import { openGateway } from "../../../support/open-gateway.js";
import { until } from "../../../support/until.js";

const SECRET = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
const TOKEN = "the-token-of-notices";

interface Notice {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A receiver that answers with `status`. */
async function receiver(status: () => number = () => 204) {
  const requests: { headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer(async (request, response) => {
    requests.push({ headers: request.headers, body: await text(request) });
    response.writeHead(status()).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=hidden`;
  return { url, requests, notices: () => requests.map(({ body }) => JSON.parse(body) as Notice) };
}

/** "the signed content is `{id}.{timestamp}.{payload}`, HMAC-SHA256, base64"; of several signatures one must match. */
function isGenuine(
  { headers, body }: { headers: IncomingHttpHeaders; body: string },
  secret: string,
): boolean {
  const [id, time] = [headers["webhook-id"], headers["webhook-timestamp"]];
  if (Math.abs(Date.now() / 1_000 - Number(time)) > 300) return false;
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const expected = createHmac("sha256", key)
    .update(`${String(id)}.${String(time)}.${body}`)
    .digest();
  return String(headers["webhook-signature"])
    .split(" ")
    .some((signature) => {
      const [version, base64 = ""] = signature.split(",");
      const given = Buffer.from(base64, "base64");
      return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
    });
}

const RULE = { name: "two-eyes", tools: ["files__wipe"], effect: "approve", approvers: ["group:leads"] };
const REDACT = { tools: ["*"], effect: "redact", redact: { arguments: { patterns: ["hunter2"] } } };

const opened = async (policy: object) => {
  const running = await openGateway(
    { files: { tools: ["wipe"] } },
    { listen: { http: { port: 0 }, admin: { port: 0, token: TOKEN } }, policy },
  );
  const admin = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(new URL(path, running.adminUrl), {
      ...init,
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    });
  return {
    ...running,
    admin,
    decide: (id: unknown, how: string) =>
      admin(`/api/v1/approvals/${id}/${how}`, { method: "POST", body: "{}" }),
  };
};

testOf("admin").each(["accept", "decline"])(
  "a notice is posted when an approval opens and when approvers %s it, signed, without what rules redact",
  async (how) => {
    const { url, requests, notices } = await receiver();
    const { adminUrl, host, decide } = await opened({
      notify: { url, secret: SECRET },
      rules: [RULE, REDACT],
    });
    const desk = await host({ era: "modern", door: "http" });
    const reply = desk.call("files__wipe", { disk: "sda", key: "hunter2" });
    const [first] = await until("the notice", () => notices().length === 1 && notices());
    expect(first).toEqual({
      type: "approval.opened",
      timestamp: first?.data.at,
      data: {
        ...{ id: expect.any(String), tool: "files__wipe", server: "files", principal: "ann" },
        ...{ rule: "two-eyes", approvers: ["group:leads"], host: expect.any(String) },
        ...{ at: expect.any(String), expiresAt: expect.any(String) },
        arguments: { disk: "sda", key: "[redacted]" },
        console: `${adminUrl}/#/inbox`,
      },
    });
    await decide(first?.data.id, how);
    await reply;
    await until("the second notice", () => notices().length === 2);
    expect(notices()[1]).toMatchObject({
      type: how === "accept" ? "approval.accepted" : "approval.declined",
      data: { id: first?.data.id, tool: "files__wipe", decidedBy: "admin-token" },
    });
    expect(requests.map((request) => isGenuine(request, SECRET))).toEqual([true, true]);
    expect(requests.map((request) => isGenuine({ ...request, body: `${request.body} ` }, SECRET))).toEqual([
      false,
      false,
    ]);
    expect(new Set(requests.map(({ headers }) => headers["webhook-id"])).size).toBe(2);
    expect(requests[0]?.headers["webhook-id"]).toMatch(/^approval_[0-9a-z]+_[0-9a-f-]{36}_opened$/);
  },
);

test("a receiver that is away delays no call, and gets its notice later", async () => {
  let status = 503;
  const { url, requests, notices } = await receiver(() => status);
  const { host, gateway } = await opened({ rules: [{ ...RULE, notify: { url } }] });
  const desk = await host({ era: "modern", door: "http" }, "ann");
  desk.call("files__wipe", {}).catch(() => {});
  await until("the first attempt", () => requests.length === 1);
  status = 200;
  await until("the second attempt", () => requests.length === 2);
  expect(requests[1]?.headers["webhook-id"]).toBe(requests[0]?.headers["webhook-id"]);
  expect(requests[0]?.headers["webhook-signature"]).toBeUndefined();
  await gateway.stop({ immediate: true });
  expect(notices().map(({ type }) => type)).toContain("approval.opened");
});

testOf("admin")(
  "the address of the console may be another one, and what is not accepted is named by /readyz",
  async () => {
    const { url, notices } = await receiver(() => 500);
    const { host, admin } = await opened({
      notify: { url, console: "https://gate.example/admin/" },
      rules: [RULE],
    });
    const desk = await host({ era: "modern", door: "http" });
    desk.call("files__wipe", {}).catch(() => {});
    await until("the notice", () => notices().length > 0);
    expect(notices()[0]?.data.console).toBe("https://gate.example/admin/#/inbox");
    const said = await until("the problem", async () => {
      const page = await (await admin("/readyz")).text();
      return page.includes("not accepted") && page;
    });
    expect(said).toContain(
      `notices of approvals are not accepted by ${new URL(url).origin}: it answered with 500`,
    );
    expect(said).not.toContain("hidden");
  },
);

test("a rule without approvers has no notices", async () => {
  const rules = [{ tools: ["*"], effect: "approve", notify: { url: "https://chat.example/hook" } }];
  await expect(openGateway({ files: { tools: ["wipe"] } }, { policy: { rules } })).rejects.toThrow(
    'this key needs "approvers"',
  );
});
