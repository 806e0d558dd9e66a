/** How does an action of an operator reach the workers? */
import { request } from "node:http";
import type { ActionName, ActionOutcome, AdminActions } from "../admin/actions.js";
import { ACTION_PATHS } from "../admin/actions.js";
import { type WorkerIdentity, workerSocket } from "../core/worker-identity.js";
import type { WorkerStatus } from "./worker-pool.js";

/** What a worker answers within this time (ms) counts; a server may need as long to come back. */
const TIMEOUT_MS = 60_000;

/** What one worker can have and another cannot; what is not there is no failure where another worker has it. */
const IS_OF_ONE: ReadonlySet<ActionName> = new Set(["end_session", "cancel_call", "revoke_approval"]);

/** Asks every ready worker, or the one that is named. */
export function workerActions(
  identity: Omit<WorkerIdentity, "number">,
  workers: () => readonly WorkerStatus[],
): AdminActions {
  return {
    async act(action, target, worker) {
      if (action === "cancel_call" && worker === undefined) {
        return 'several workers number their calls: the body needs "worker", as the row of the call has it';
      }
      const asked = workers().filter(
        (each) => each.ready && (worker === undefined || each.worker === worker),
      );
      if (asked.length === 0) return "no worker is ready";
      const outcomes = await Promise.all(
        asked.map(({ worker: number }) =>
          actAt(workerSocket(identity, number, "admin"), identity.secret, action, target).then(
            (outcome) => outcome,
            (error: Error) => `worker ${number} does not answer: ${error.message}`,
          ),
        ),
      );
      if (IS_OF_ONE.has(action) && outcomes.includes(undefined)) return undefined;
      return outcomes.find((outcome) => outcome !== undefined);
    },
  };
}

/** @throws Error when the worker does not answer in time */
function actAt(
  socketPath: string,
  token: string,
  action: ActionName,
  target: string,
): Promise<ActionOutcome> {
  const path = `/api/v1/${ACTION_PATHS[action].replace(":target", encodeURIComponent(target))}`;
  const headers = {
    host: "localhost",
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "content-length": 2,
  };
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, method: "POST", headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.once("error", reject);
      response.once("end", () => {
        if (response.statusCode === 200) resolve(undefined);
        else resolve((JSON.parse(text) as { error?: string }).error ?? `status ${response.statusCode}`);
      });
    });
    sent.once("error", reject);
    sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    sent.end("{}");
  });
}
