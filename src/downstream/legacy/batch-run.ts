/**
 * How many requests of a batch run at a time? As many as there is room for their answers: what has run must be delivered,
 * so the next ones wait until the host has read earlier answers, and none runs once it is gone.
 */
import { GatewayError } from "../../core/errors.js";
import { Stop } from "../../core/stop.js";
import type { Request } from "../../wire/envelope.js";

/** Answers on their way to the host, in bytes. */
const MAX_UNDELIVERED = 32 * 1024 * 1024;
/** The room that a running request is given until its answer is there, in bytes. */
const EXPECTED_ANSWER = 1024 * 1024;

/** The answers of one batch, on their way to the host. */
export interface BatchDelivery {
  /** What the host has not read yet, in bytes. */
  readonly undelivered: number;
  /** Whether answers can no longer reach the host. */
  readonly isGone: boolean;
  /** Resolves when either may have changed, or at `changed`. */
  whenChanged(): Promise<void>;
  /** A request of the batch was answered. */
  changed(): void;
}

/**
 * Serves `requests` in order, each as soon as there is room for its answer. Resolves when all are served.
 *
 * @param refuse answers a request that is not run
 */
export async function runBatch(
  requests: readonly Request[],
  delivery: BatchDelivery,
  serve: (request: Request) => Promise<void>,
  refuse: (request: Request, error: GatewayError) => void,
): Promise<void> {
  const served: Promise<void>[] = [];
  let running = 0;
  const isFull = (): boolean =>
    running + delivery.undelivered > 0 &&
    delivery.undelivered + (running + 1) * EXPECTED_ANSWER > MAX_UNDELIVERED;
  for (const request of requests) {
    while (!delivery.isGone && isFull()) await delivery.whenChanged();
    if (delivery.isGone) {
      refuse(request, notRead());
      continue;
    }
    running += 1;
    const done = serve(request).finally(() => {
      running -= 1;
      delivery.changed();
    });
    served.push(done);
  }
  await Promise.all(served);
}

/** For waits that a change ends. */
export const NEVER = new Stop().signal;
/** The longest timer of Node, in ms. */
export const LONGEST_WAIT_MS = 2 ** 31 - 1;

const notRead = (): GatewayError =>
  new GatewayError(
    "overloaded",
    "downstream",
    "the host did not read the earlier answers of its batch, so this request was not run; send fewer at a time",
    { retryable: true },
  );
