/** Which host may resume a round, and for how long? Seals the state of each round on its way out, and opens it on its way back. */
import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from "node:crypto";
import type { Call, Handler, InputResponses, Middleware, Reply, RoundState } from "../core/call.js";
import { GatewayError, reachedNoServer } from "../core/errors.js";
import { targetOf } from "../core/methods.js";
import { issuerOf, withIssuer, withoutIssuer } from "../core/owners.js";
import { callIdentity } from "../runtime/canonical-digest.js";
import { isObject, objectAt, stringAt } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import { newRoundId, UsedRounds } from "./used-rounds.js";

/** How states are sealed. */
export interface SealSettings {
  /** A secret key of 32 bytes; processes that share it open each other's states. */
  readonly key: KeyObject;
  /** How long (ms) a state that is sealed now can be answered. Default 1 h: a person may have to be found first. */
  readonly ttlMs?: () => number;
  /** The time of day in ms; processes that share the key share it too. */
  readonly now?: () => number;
  /**
   * This process, where there are several. A state opens only in the process that sealed it: parked calls
   * and used approvals are in that process alone.
   */
  readonly issuer?: string;
  /**
   * Whether other processes can open what needs nothing of this one: then only states of parked calls, links and sign-ins are
   * bound to it. Default: all are.
   */
  readonly isShared?: boolean;
}

type InputRequired = Extract<Reply, { kind: "input_required" }>;

/** Names the format: a state of another format is rejected. */
const PREFIX = "cardea4.";
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const EXPIRY_BYTES = 8;

/**
 * Seals with AES-256-GCM (2026-07-28: basic/patterns/mrtr, "Server Requirements": a state that comes back must be taken
 * for an attacker's). Stands below the layer that finds the route. A state opens only for the same principal, endpoint,
 * server, method, target and arguments, until it expires; anything else is `state_rejected`. A round without a state of
 * the server gets one too: it is the proof that its call continues, and the server never sees it.
 *
 * Within that time the same state opens again, but `round.isFirst` is true only once in this process (and again where
 * the call was refused before it reached a server). Single use is enforced by the layer that wrote the member.
 *
 * @throws RangeError when the key is not 32 bytes long.
 */
export function sealedState({
  key,
  ttlMs = () => 3_600_000,
  now = () => Date.now(),
  issuer: own,
  isShared = false,
}: SealSettings): Middleware {
  if (key.symmetricKeySize !== 32)
    throw new RangeError("the key that seals request state must be 32 bytes long");
  const used = new UsedRounds();
  return (next) =>
    function sealedState(call) {
      const { inputResponses } = call;
      // A state that does not open is a rejected promise like every other failure: a handler never throws synchronously.
      if (inputResponses?.sealedState !== undefined)
        return resume(inputResponses, inputResponses.sealedState, call, next);
      return next(call).then((reply) => sealReply(reply, call));
    };

  function sealReply(reply: Reply, call: Call): Reply | Promise<Reply> {
    return reply.kind === "input_required" ? sealReplyAsync(reply, call) : reply;
  }

  async function sealReplyAsync({ state = {}, ...reply }: InputRequired, call: Call): Promise<Reply> {
    const issuer = isShared && !needsItsProcess(state) ? undefined : own;
    const text = writeState(state, newRoundId(now()));
    const sealed = seal(key, text, await bindingOf(call, issuer), now() + ttlMs());
    return { ...reply, sealedState: withIssuer(issuer, sealed) };
  }

  async function resume(
    { sealedState: _, ...responses }: InputResponses,
    prefixed: string,
    call: Call,
    next: Handler,
  ): Promise<Reply> {
    const issuer = issuerOf(prefixed);
    if (issuer !== own && !(isShared && issuer === undefined)) throw rejected("is not one of ours");
    const text = open(key, withoutIssuer(prefixed), await bindingOf(call, issuer), now());
    const { state, id } = readState(text);
    const { principal } = call.client;
    const round = { id, isFirst: used.use(principal, id) };
    try {
      return await sealReply(await next({ ...call, inputResponses: { ...responses, state, round } }), call);
    } catch (error) {
      if (round.isFirst && reachedNoServer(error)) used.giveBack(principal, id);
      throw error;
    }
  }
}

/** Whether the state refers to what one process keeps. */
const needsItsProcess = ({ parked, links, roots, signIn, policy }: RoundState): boolean =>
  parked !== undefined ||
  links !== undefined ||
  roots !== undefined ||
  signIn !== undefined ||
  policy?.waits?.isLocal === true;

/**
 * The id of the round and the gateway's members as one line of JSON, then the server's own state unchanged: it may have any
 * length and content.
 */
function writeState({ server, ...own }: RoundState, id: string): string {
  const line = writeJson({ id, own });
  return server === undefined ? line : `${line}\n${server}`;
}

function readState(text: string): { readonly id: string; readonly state: RoundState } {
  const end = text.indexOf("\n");
  const parsed = parseJson(end < 0 ? text : text.slice(0, end));
  const line = isObject(parsed) ? parsed : {};
  // The seal is the proof that this process, or one with the same key, wrote it.
  const state: RoundState = objectAt(line, "own") ?? {};
  return {
    id: stringAt(line, "id") ?? "",
    state: end < 0 ? state : { ...state, server: text.slice(end + 1) },
  };
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
  // Node's decoder skips characters outside base64url: the same bytes could come in many texts.
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

/** What a state is bound to. */
async function bindingOf(call: Call, issuer: string | undefined): Promise<Buffer> {
  const { client, method, params, route, via } = call;
  const target = targetOf(method, params)?.name;
  // A question that came to a call made of another one is answered there, and nowhere else.
  const wrapper = via === undefined ? [] : [`via ${via}`];
  const others = [client.endpoint, ...(issuer === undefined ? [] : [issuer]), ...wrapper];
  return Buffer.from(
    await callIdentity(call, route?.upstream, target, params.arguments, ...others),
    "base64",
  );
}

/** The reasons help with debugging and reveal nothing about the state. */
const rejected = (why: string, cause?: unknown): GatewayError =>
  new GatewayError("state_rejected", "downstream", `the requestState ${why}`, { cause });
