/**
 * Seals the state a server hands out with `input_required`, and opens it when the client comes back with it
 * (spec 2026-07-28: basic/patterns/mrtr, "Server Requirements": it must be taken for an attacker's).
 */
import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from "node:crypto";
import type { Call, Reply } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { Middleware } from "../../core/handler.js";
import { targetOf } from "../../core/methods.js";
import { withoutWorkerPrefix, withWorkerPrefix, workerOf } from "../../core/worker-identity.js";
import { canonicalDigest } from "../../runtime/canonical-digest.js";
import { writeJson } from "../../wire/json-text.js";

export interface SealSettings {
  /** A secret key of 32 bytes; every process that may take the retry needs the same. */
  readonly key: KeyObject;
  /** How long a state that is sealed now can be answered, in ms. Default 1 h: a person may have to be found first. */
  readonly ttlMs?: () => number;
  /** The time of day in milliseconds; processes that share the key share it too. */
  readonly now?: () => number;
  /**
   * The number of this worker, where there are others: a state opens only where it was sealed, because what it
   * stands for may be there and nowhere else, and what must be used once is remembered there.
   */
  readonly worker?: number;
}

type InputRequired = Extract<Reply, { kind: "input_required" }>;

/** Names the format, so that a later one can be told from it. */
const PREFIX = "cardea1.";
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const EXPIRY_BYTES = 8;

/**
 * A middleware that seals every state on its way out and opens it on its way back in. It stands below the layer
 * that finds the route, so that one server's state never reaches another. A state opens only for the same principal,
 * scope, server, method, target and arguments, until it expires; anything else is `state_rejected`. Where a server
 * sent no state the client gets none, and none is expected back.
 *
 * Within that time the same state opens again: a state that must be used once is for its server to spend.
 *
 * @throws RangeError when the key is not 32 bytes long.
 */
export function sealedState({
  key,
  ttlMs = () => 3_600_000,
  now = () => Date.now(),
  worker,
}: SealSettings): Middleware {
  if (key.symmetricKeySize !== 32)
    throw new RangeError("the key that seals request state must be 32 bytes long");
  return (next) => {
    const handleResumed = async (call: Call): Promise<Reply> =>
      sealReply(await next(await unsealState(call)), call);
    return function sealedState(call) {
      // What cannot be opened is a rejection like every other failure: a handler never throws before it returns.
      if (call.inputResponses?.state !== undefined) return handleResumed(call);
      return next(call).then((reply) => sealReply(reply, call));
    };
  };

  function sealReply(reply: Reply, call: Call): Reply | Promise<Reply> {
    return reply.kind !== "input_required" || reply.state === undefined
      ? reply
      : sealReplyAsync(reply, reply.state, call);
  }

  async function sealReplyAsync(reply: InputRequired, inner: string, call: Call): Promise<Reply> {
    const state = seal(key, inner, await bindingOf(call, worker), now() + ttlMs());
    return { ...reply, state: withWorkerPrefix(worker, state) };
  }

  async function unsealState(call: Call): Promise<Call> {
    const { inputResponses } = call;
    if (inputResponses?.state === undefined) return call;
    if (workerOf(inputResponses.state) !== worker) throw rejected("is not one of ours");
    const sealed = withoutWorkerPrefix(inputResponses.state);
    return {
      ...call,
      inputResponses: { ...inputResponses, state: open(key, sealed, await bindingOf(call, worker), now()) },
    };
  }
}

function seal(key: KeyObject, state: string, binding: Buffer, expiresAt: number): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(binding);
  const expiry = Buffer.alloc(EXPIRY_BYTES);
  expiry.writeDoubleBE(expiresAt);
  const sealed = Buffer.concat([nonce, cipher.update(expiry), cipher.update(state, "utf8"), cipher.final()]);
  return `${PREFIX}${Buffer.concat([sealed, cipher.getAuthTag()]).toString("base64url")}`;
}

function open(key: KeyObject, sealed: string, binding: Buffer, now: number): string {
  const text = sealed.startsWith(PREFIX) ? sealed.slice(PREFIX.length) : "";
  const bytes = Buffer.from(text, "base64url");
  // Node's decoder passes over what is no base64url, so the same bytes could come in many texts.
  if (bytes.toString("base64url") !== text) throw rejected("is not one of ours");
  if (bytes.length < NONCE_BYTES + EXPIRY_BYTES + TAG_BYTES) throw rejected("is not one of ours");
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(binding).setAuthTag(bytes.subarray(-TAG_BYTES));
  const clear = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), finish(decipher)]);
  if (clear.readDoubleBE(0) <= now) throw rejected("has expired");
  return clear.toString("utf8", EXPIRY_BYTES);
}

function finish(decipher: ReturnType<typeof createDecipheriv>): Buffer {
  try {
    return decipher.final();
  } catch (cause) {
    throw rejected("does not belong to this request", cause);
  }
}

/**
 * What a state is good for. Only the arguments are digested and not all parameters, because metadata such as
 * the progress token rightly differs from round to round.
 */
async function bindingOf(
  { client, method, params, route }: Call,
  worker: number | undefined,
): Promise<Buffer> {
  const target = targetOf(method, params);
  const args = await canonicalDigest(params.arguments ?? null);
  const parts = [
    client.principal.id,
    client.endpoint,
    route?.upstream ?? null,
    method,
    target?.name ?? null,
    args,
    ...(worker === undefined ? [] : [worker]),
  ];
  return Buffer.from(writeJson(parts), "utf8");
}

/** The reasons are for a person who debugs; none tells an attacker more than that it did not work. */
const rejected = (why: string, cause?: unknown): GatewayError =>
  new GatewayError("state_rejected", "downstream", `the requestState ${why}`, { cause });
