/** Runs an operator's action on the workers. */
import { request } from "node:http";
import type { AdminCaller } from "../../core/admin-page.js";
import type { OperatorAction } from "../../core/feature.js";
import { type ActionOutcome, type AdminActions, OPERATOR_ACTIONS } from "../admin/actions.js";
import { callerHeader } from "../admin/caller.js";
import { type WorkerIdentity, workerSocket } from "./identity.js";
import type { WorkerStatus } from "./worker-pool.js";

/** Timeout (ms) of a worker's response; a server may need as long to restart. */
const TIMEOUT_MS = 60_000;

/** Sends the action, one of the gateway itself or `ofFeatures`, to every ready worker, or to the named one. */
export function workerActions(
  identity: Omit<WorkerIdentity, "number">,
  workers: () => readonly WorkerStatus[],
  ofFeatures: readonly OperatorAction[],
): AdminActions {
  return {
    kinds: [...OPERATOR_ACTIONS, ...ofFeatures],
    async act(action, target, by, worker) {
      if (action.name === "cancel_call" && worker === undefined) {
        return 'several workers number their calls: the body needs "worker", as the row of the call has it';
      }
      const asked = workers().filter(
        (each) => each.ready && (worker === undefined || each.worker === worker),
      );
      if (asked.length === 0) return "no worker is ready";
      const outcomes = await Promise.all(
        asked.map(({ worker: number }) =>
          actAt(workerSocket(identity, number, "admin"), identity.secret, { action, target, by }).then(
            (outcome) => outcome,
            (error: Error) => `worker ${number} does not answer: ${error.message}`,
          ),
        ),
      );
      if (action.isOfOne === true && outcomes.includes(undefined)) return undefined;
      return outcomes.find((outcome) => outcome !== undefined);
    },
  };
}

/** What a worker is to do, and for whom. */
interface Order {
  readonly action: OperatorAction;
  readonly target: string;
  readonly by: AdminCaller;
}

/** @throws Error if the worker does not respond in time */
function actAt(socketPath: string, token: string, { action, target, by }: Order): Promise<ActionOutcome> {
  const path = `/api/v1/${action.path.replace(":target", encodeURIComponent(target))}`;
  const body = "{}";
  const headers = {
    host: "localhost",
    authorization: `Bearer ${token}`,
    ...callerHeader(by),
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
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
    sent.end(body);
  });
}
