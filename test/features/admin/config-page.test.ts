/** The config in effect, as the admin listener shows it. */
import { expect, onTestFinished } from "vitest";
import { testOf } from "../../support/features.js";
import { gatewayOf, listening } from "../../support/gateway.js";

const CANARIES = {
  env: "canary-env-3f9a",
  header: "canary-header-77b1",
  admin: "canary-admin-token-c21d",
  key: "canary-state-secret-0123456789abcdef-0123456789abcdef",
  vault: Buffer.from("canary-vault-key-of-32-bytes-ab12").subarray(0, 32).toString("base64"),
  client: "canary-client-secret-91aa",
  host: `sha256:${"5522aa77".repeat(8)}`,
};

testOf("sign-in")("shows the live config, including defaults, and no secret", async () => {
  const gateway = await gatewayOf({
    listen: { http: { port: 0 }, admin: { port: 0, token: CANARIES.admin } },
    keys: { state: CANARIES.key },
    credentials: { key: CANARIES.vault },
    auth: { keys: [{ id: "ann", hash: CANARIES.host }] },
    mcpServers: {
      local: { command: process.execPath, args: ["-e", ""], env: { MODE: CANARIES.env }, start: "demand" },
      remote: { type: "http", url: "http://127.0.0.1:9/mcp", headers: { "x-any": CANARIES.header } },
      signed: {
        type: "http",
        url: "https://127.0.0.1:9/mcp",
        auth: {
          type: "client_credentials",
          issuer: "https://127.0.0.1:9",
          clientId: "me",
          clientSecret: CANARIES.client,
        },
      },
    },
  });
  const { adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  const response = await fetch(`${adminUrl}/api/v1/config`, {
    headers: { authorization: `Bearer ${CANARIES.admin}` },
  });
  const text = await response.text();
  for (const canary of Object.values(CANARIES)) expect(text).not.toContain(canary);
  expect(JSON.parse(text)).toMatchObject({
    listen: { admin: { host: "127.0.0.1", token: "[masked]", showArguments: false } },
    keys: { state: "[masked]" },
    servers: [
      { name: "local", transport: { command: process.execPath, env: { MODE: "[masked]" } } },
      { name: "remote", transport: { url: "http://127.0.0.1:9/mcp", headers: { "x-any": "[masked]" } } },
      { name: "signed", auth: { clientId: "me", clientSecret: "[masked]" } },
    ],
  });
});
