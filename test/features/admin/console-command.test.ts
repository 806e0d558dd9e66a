/** `cardea console`: the link that it prints, and what it says where there is no gateway. */
import { expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import { admin } from "../../../src/features/admin/feature.js";
import { fakeShell } from "../../cli/fake-shell.js";
import { gatewayOf, listening } from "../../support/gateway.js";

const TOKEN = "the-token-of-the-operator";

test("a link is printed alone on a line; its code unlocks once", async () => {
  const gateway = await gatewayOf({
    listen: { http: { port: 0 }, admin: { port: 0, token: TOKEN } },
    mcpServers: {},
  });
  const { adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  const shell = fakeShell({ env: { CARDEA_ADMIN_TOKEN: TOKEN } });
  expect(await runCommandLine(["console", "--print", "--url", String(adminUrl)], shell)).toBe(0);
  const [, code] = new RegExp(`^${adminUrl}/#unlock=([\\w-]{43})\n$`).exec(shell.out()) ?? [];
  const unlock = async () =>
    (
      await fetch(`${adminUrl}/api/v1/console/unlock`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ code }),
      })
    ).status;
  expect([await unlock(), await unlock()]).toEqual([200, 403]);
});

test("without the token there is no link, and the reason is said", async () => {
  const gateway = await gatewayOf({
    listen: { http: { port: 0 }, admin: { port: 0, token: TOKEN } },
    mcpServers: {},
  });
  const { adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  const shell = fakeShell();
  expect(await runCommandLine(["console", "--print", "--url", String(adminUrl)], shell)).toBe(1);
  expect(shell.said.join("\n")).toContain("wants the token of its admin listener");
  expect(shell.out()).toBe("");
});

test("the terminal of a gateway with a listener for operators says how to open the console", () => {
  const gateway = { url: "http://127.0.0.1:1/mcp", pid: 1 };
  expect(admin.readyHint?.({ ...gateway, adminUrl: "http://127.0.0.1:2" }, "npx cardea")).toBe(
    "the console opens unlocked with: npx cardea console",
  );
  expect(admin.readyHint?.(gateway, "npx cardea")).toBeUndefined();
});
