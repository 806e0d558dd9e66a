/** Posts messages to a URL of the config, signed as Standard Webhooks say (https://www.standardwebhooks.com), through a proxy where one is configured. */
import { createHmac } from "node:crypto";
import type { Agent } from "undici";
import { undici } from "../runtime/undici.js";
import { outgoingAgent } from "./connector.js";

/** Where messages go. */
export interface WebhookTarget {
  /** http or https. */
  readonly url: string;
  /** `whsec_` and base64; undefined where messages are not signed. */
  readonly secret?: string | undefined;
}

/** A message. */
export interface WebhookMessage {
  /** The same in each attempt, by which a receiver knows a message that it has already. */
  readonly id: string;
  /** JSON. */
  readonly body: string;
}

/** The outcome of an attempt: `refused` by its status, or `lost` without one, with the reason as the end of a sentence. */
export type WebhookOutcome =
  | { readonly kind: "accepted" }
  | {
      readonly kind: "refused" | "lost";
      readonly reason: string;
      /** How long (ms) the receiver wants no other attempt. */
      readonly waitMs?: number;
    };

/** For one attempt, in ms. */
const TIMEOUT_MS = 15_000;
const MS = 1_000;
const PREFIX = "whsec_";

/** Sends messages to one target; its connection is kept between them. */
export class Webhook {
  readonly #target: WebhookTarget;
  readonly #now: () => number;
  #agent: Agent | undefined;

  /** @param now milliseconds since 1970 */
  constructor(target: WebhookTarget, now: () => number = Date.now) {
    this.#target = target;
    this.#now = now;
  }

  /** One attempt. Redirects are not followed: the signature is for this receiver. Never throws. */
  async post(message: WebhookMessage, signal?: AbortSignal): Promise<WebhookOutcome> {
    this.#agent ??= outgoingAgent({ timeoutMs: TIMEOUT_MS }, { connections: 1 });
    const signals = [AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])];
    try {
      const answer = await undici().request(this.#target.url, {
        dispatcher: this.#agent,
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...webhookHeaders(message, this.#target.secret, Math.floor(this.#now() / MS)),
        },
        body: message.body,
        signal: AbortSignal.any(signals),
      });
      await answer.body.dump();
      const { statusCode: status } = answer;
      if (status >= 200 && status < 300) return { kind: "accepted" };
      const waitMs = retryAfterOf(answer.headers["retry-after"], this.#now());
      return {
        kind: "refused",
        reason: `it answered with ${status}`,
        ...(waitMs !== undefined && { waitMs }),
      };
    } catch (error) {
      return { kind: "lost", reason: reasonOf(error) };
    }
  }

  /** Closes its connection. */
  async close(): Promise<void> {
    await this.#agent?.destroy();
  }
}

/** `webhook-id`, `webhook-timestamp` (seconds since 1970) and, with a secret, `webhook-signature`. */
export function webhookHeaders(
  { id, body }: WebhookMessage,
  secret: string | undefined,
  timestamp: number,
): Readonly<Record<string, string>> {
  const headers = { "webhook-id": id, "webhook-timestamp": String(timestamp) };
  if (secret === undefined) return headers;
  const key = Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { ...headers, "webhook-signature": `v1,${signature}` };
}

/** Seconds or a date (RFC 9110, 10.2.3), in ms from now. */
function retryAfterOf(header: string | string[] | undefined, now: number): number | undefined {
  const [text = ""] = [header ?? []].flat();
  const ms = /^\d{1,6}$/.test(text) ? Number(text) * MS : Date.parse(text) - now;
  return ms > 0 ? ms : undefined;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "the request failed";
  if (error.name === "TimeoutError" || /Timeout/.test(error.name))
    return `no answer within ${TIMEOUT_MS / MS} s`;
  if (error.name === "AbortError") return "the attempt was ended";
  return error.message === "" ? String((error as NodeJS.ErrnoException).code ?? error.name) : error.message;
}
