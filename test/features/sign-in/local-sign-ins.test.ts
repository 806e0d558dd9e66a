/** Sign-ins without a running gateway: the command serves the callback itself. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { openLocalSignIns } from "../../../src/features/sign-in/local-sign-ins.js";
import { configOf } from "../../support/gateway.js";
import { adversarialServer } from "../../support/sign-in/adversarial-server.js";
import { Browser } from "../../support/sign-in/browser.js";

test("the browser gets its page although the command ends meanwhile", async () => {
  const server = await adversarialServer();
  const folder = mkdtempSync(join(tmpdir(), "cardea-local-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const config = configOf({ mcpServers: { notes: { url: server.mcpUrl } }, listen: { http: { port: 0 } } });
  const desk = openLocalSignIns({
    ...{ config, env: { CARDEA_STATE_DIR: folder }, gatewayUrl: undefined, logger: SILENT, store: undefined },
  });
  const begun = await desk.begin("notes", "anonymous", { device: false, acceptsAudience: false });
  let ending = Promise.resolve();
  server.set("token", (response) => {
    ending = desk.close();
    response.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_grant"}');
  });
  const browser = new Browser();
  const { headers } = await browser.open(begun.url);
  const page = await browser.open(headers.get("location") ?? "");
  expect(page.status).toBeGreaterThanOrEqual(400);
  await ending;
});
