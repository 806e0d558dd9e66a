/** What the first process and its workers say to each other. */
import type { ListenConfig } from "../config/config.js";
import type { WorkerIdentity } from "../core/worker-identity.js";

export type ToWorker =
  /** `listen` is what the first process was started with: the file may say something else by now. */
  | { readonly kind: "identity"; readonly identity: WorkerIdentity; readonly listen: ListenConfig }
  /** Take no new calls and let those under way finish; the second time, stop at once. */
  | { readonly kind: "stop"; readonly immediate: boolean }
  /** Read the config again. */
  | { readonly kind: "reload" };

export type FromWorker =
  /** It hears: what is said to a worker before that, it never hears. */
  | { readonly kind: "connected" }
  /** Its listeners are open. */
  | { readonly kind: "ready"; readonly url: string };

/** Set in the environment of a worker, which waits for its seat then. */
export const WORKER_ENV = "CARDEA_WORKER";
