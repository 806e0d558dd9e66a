/** Which principal and address a worker receives with an action that the process that has started it passes on. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { OPERATOR_ACTIONS } from "../../../src/features/admin/actions.js";
import { type Operator, operatorOf } from "../../../src/features/admin/caller.js";
import { type AdminListenerOptions, createAdminListener } from "../../../src/features/admin/server.js";
import { workerActions } from "../../../src/features/workers/act-on-workers.js";
import { workerSocket } from "../../../src/features/workers/identity.js";

const SECRET = "the-secret-of-all-workers";
const TOKEN = "the-token-of-the-operator";
const LISTENER: Pick<AdminListenerOptions, "host" | "port" | "logger" | "metrics" | "readiness" | "pages"> = {
  ...{ host: "127.0.0.1", port: 0, logger: SILENT },
  metrics: { text: async () => "" },
  readiness: () => ({ ready: true, reasons: [] }),
  pages: async () => [],
};

test("each worker knows the principal and the address of the request to the first process", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cardea-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const identity = { count: 2, folder, secret: SECRET };
  const acted: { readonly worker: number; readonly target: string; readonly by: Operator }[] = [];
  for (const worker of [1, 2]) {
    const listener = createAdminListener({
      ...LISTENER,
      ...{ socket: workerSocket(identity, worker, "admin"), ownerToken: SECRET },
      actions: {
        kinds: OPERATOR_ACTIONS,
        act: async (_, target, by) => void acted.push({ worker, target, by: operatorOf(by) }),
      },
    });
    await listener.start();
    onTestFinished(() => listener.stop());
  }
  const first = createAdminListener({
    ...LISTENER,
    token: TOKEN,
    actions: workerActions(
      identity,
      () => [1, 2].map((worker) => ({ worker, pid: worker, ready: true, restarts: 0 })),
      [],
    ),
  });
  const { url } = await first.start();
  onTestFinished(() => first.stop());
  const sent = await fetch(`${url}/api/v1/servers/files/restart`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: "{}",
  });
  expect(sent.status).toBe(200);
  const by = { principal: "admin-token", address: "127.0.0.1" };
  expect(acted.sort((one, other) => one.worker - other.worker)).toEqual([
    { worker: 1, target: "files", by },
    { worker: 2, target: "files", by },
  ]);
});
