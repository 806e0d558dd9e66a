/** Which messages the primary process and its workers exchange. */
import type { ListenConfig } from "../config/config.js";
import type { WorkerIdentity } from "../core/worker-identity.js";

/** From the primary process to a worker. */
export type ToWorker =
  /** `listen` is the config with which the primary was started; the file may have changed since. */
  | { readonly kind: "identity"; readonly identity: WorkerIdentity; readonly listen: ListenConfig }
  /** Drain; the second time, stop at once. */
  | { readonly kind: "stop"; readonly immediate: boolean }
  /** Read the config file again. */
  | { readonly kind: "reload" };

/** From a worker to the primary process. */
export type FromWorker =
  /** The worker listens for messages; earlier ones would be lost. */
  | { readonly kind: "connected" }
  /** Its listeners are bound. */
  | { readonly kind: "ready"; readonly url: string };

/** Set in the environment of a worker, which then waits for its identity. */
export const WORKER_ENV = "CARDEA_WORKER";
