/**
 * Asks the person behind a call to sign in, then retries the call: by an elicitation of mode `url` if the host supports
 * it, otherwise by an error with the URL.
 */

import { type Call, type Handler, type Middleware, type Reply, SIGN_IN_KEY } from "../../core/call.js";
import type { Client } from "../../core/client.js";
import type { CredentialStore } from "../../core/credentials.js";
import { GatewayError, signInRequired } from "../../core/errors.js";
import { RESUMABLE_METHODS } from "../../core/methods.js";
import { asOf, signInCommand } from "../../core/sign-in-command.js";
import { awaitWithin } from "../../core/stop.js";
import { type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";

/** Dependencies of the middleware. */
export interface PromptSignInOptions {
  /** The server's key in the config. */
  readonly server: string;
  /** The id of the principal whose credentials the calls of `client` carry. */
  readonly credentialsOf: (client: Client) => string;
  readonly store: Pick<CredentialStore, "watch">;
  /**
   * The sign-in page for the person behind `client` at `server`; undefined if there is none.
   *
   * @throws GatewayError if a page would not help, with the reason
   */
  readonly connectUrl: (server: string, client: Client) => Promise<string | undefined>;
  /**
   * How long (ms) a call waits for the sign-in after the host showed the page. Default: 50 s, because many hosts time
   * out after 60 s.
   */
  readonly waitMs?: number;
}

const WAIT_MS = 50_000;
/** Questions per call: a person who closed the page may open it again. */
const MAX_ROUNDS = 3;
/** The outermost middleware of a server's calls, so that no call timeout runs while the person signs in. */
export function promptSignIn(settings: PromptSignInOptions): Middleware {
  return (next: Handler): Handler => {
    const attempt = (call: Call, round: number): Promise<Reply> =>
      next(call).catch((error: unknown) => lead(error, call, round, settings));
    return function promptSignIn(call) {
      const led = call.inputResponses?.state?.signIn;
      return led === undefined ? attempt(call, 1) : resume(call, led);
    };

    /** The host has answered the question. A call that was refused for a missing sign-in has not run. */
    async function resume(call: Call, { id, round }: { readonly id: string; readonly round: number }) {
      const { responses = {}, refusals } = call.inputResponses ?? {};
      const resumed = withoutAnswer(call);
      if (refusals?.[SIGN_IN_KEY] !== undefined) throw await unaskable(call, id, settings);
      if (stringAt(objectAt(responses, SIGN_IN_KEY), "action") !== "accept")
        throw await declined(call, settings);
      // `accept` only means that the page was opened (2025-11-25 and 2026-07-28: client/elicitation, "URL Mode").
      const signedIn = watchSignIn(call.client, settings);
      try {
        const reply = await next(resumed).catch((error: unknown) => asRequired(error, settings));
        if (!(reply instanceof GatewayError)) return complete(reply, call, id);
        await awaitWithin(settings.waitMs ?? WAIT_MS, signedIn.promise, call.signal);
      } finally {
        signedIn.stop();
      }
      return attempt(resumed, round + 1).then((reply) => complete(reply, call, id));
    }
  };
}

/** The reply with the sign-in page. @throws GatewayError if the host cannot show one; `error` if it is unrelated */
async function lead(
  error: unknown,
  call: Call,
  round: number,
  settings: PromptSignInOptions,
): Promise<Reply> {
  const required = asRequired(error, settings);
  const { server } = settings;
  if (!RESUMABLE_METHODS.has(call.method)) throw required;
  const url = await pageFor(call, settings);
  if (url === undefined) throw required;
  if (round > MAX_ROUNDS || !showsUrls(call.client) || isAnswered(call))
    throw withPage(call, server, url, "needs a sign-in");
  // A host without a session receives no `notifications/elicitation/complete`, which carries the id.
  const id = globalThis.crypto.randomUUID();
  const params = {
    mode: "url",
    message: messageOf(server),
    url,
    ...(call.client.session && { elicitationId: id }),
  };
  return {
    kind: "input_required",
    requests: { [SIGN_IN_KEY]: { method: "elicitation/create", params } },
    state: { ...call.inputResponses?.state, signIn: { id, round } },
  };
}

/** The error for a call whose host cannot show the page, or that has no route yet. */
export async function signInError(
  settings: Pick<PromptSignInOptions, "server" | "connectUrl">,
  call: Call,
): Promise<GatewayError> {
  const { server } = settings;
  try {
    const url = await pageFor(call, settings);
    return url === undefined
      ? signInRequired(server, asOf(call.client.principal))
      : withPage(call, settings.server, url, "needs a sign-in");
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

const messageOf = (server: string): string =>
  `"${server}" wants you to sign in. The call goes on when you have.`;

/** Where the person can sign in later. */
function withPage(
  { client }: Call,
  server: string,
  url: string,
  what: string,
  more: { readonly rpc?: number; readonly data?: JsonObject } = {},
) {
  const sentence = `${server} ${what}: open ${url}, or run "${signInCommand(server, asOf(client.principal))}"`;
  return new GatewayError("sign_in_required", "upstream", sentence, { server, signInUrl: url, ...more });
}

/** @throws GatewayError `sign_in_required` with the reason why a page would not help */
async function pageFor(
  { client }: Call,
  { server, connectUrl }: Pick<PromptSignInOptions, "server" | "connectUrl">,
): Promise<string | undefined> {
  try {
    return await connectUrl(server, client);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { message } = error;
    throw new GatewayError("sign_in_required", "upstream", message, { server, cause: error });
  }
}

async function declined(call: Call, settings: PromptSignInOptions): Promise<GatewayError> {
  const { server } = settings;
  const url = await pageFor(call, settings);
  return url === undefined
    ? signInRequired(server, asOf(call.client.principal))
    : withPage(call, server, url, "needs a sign-in, which was declined");
}

/**
 * The host has no stream for the question, so the error carries the URL (2025-11-25: client/elicitation, "URL
 * Elicitation Required Error").
 */
async function unaskable(
  call: Call,
  elicitationId: string,
  settings: PromptSignInOptions,
): Promise<GatewayError> {
  const { server } = settings;
  const url = await pageFor(call, settings);
  if (url === undefined) return signInRequired(server, asOf(call.client.principal));
  if (!call.client.session) return withPage(call, server, url, "needs a sign-in");
  const elicitations = [{ mode: "url", message: messageOf(server), url, elicitationId }];
  return withPage(call, server, url, "needs a sign-in", {
    rpc: CODE.urlElicitationRequired,
    data: { elicitations },
  });
}

/** `error` if it asks for a sign-in. @throws `error` otherwise */
function asRequired(error: unknown, { server }: PromptSignInOptions): GatewayError {
  if (error instanceof GatewayError && error.code === "sign_in_required" && error.options.server === server)
    return error;
  throw error;
}

/** Notifies the host that the sign-in is complete. */
function complete(reply: Reply, call: Call, elicitationId: string): Reply {
  if (call.client.session && reply.kind !== "input_required")
    call.notify({ method: "notifications/elicitation/complete", params: { elicitationId } });
  return reply;
}

/** `elicitation: {}` declares form mode only. */
const showsUrls = ({ capabilities }: Client): boolean =>
  objectAt(objectAt(capabilities, "elicitation"), "url") !== undefined;

/** The call answers questions of the server; the host would not send these answers again. */
const isAnswered = ({ inputResponses }: Call): boolean =>
  inputResponses !== undefined && Object.keys(inputResponses.responses).some((key) => key !== SIGN_IN_KEY);

/** The call as it was before the question. */
function withoutAnswer(call: Call): Call {
  const { inputResponses, ...rest } = call;
  const { signIn: _, ...state } = inputResponses?.state ?? {};
  if (inputResponses === undefined || Object.keys(state).length === 0) return rest;
  return { ...rest, inputResponses: { ...inputResponses, responses: {}, state } };
}

/** Resolves at the next sign-in with the credentials of `client`. */
function watchSignIn(client: Client, { server, store, credentialsOf }: PromptSignInOptions) {
  let stop = (): void => {};
  const promise = new Promise<void>((resolve) => {
    const id = credentialsOf(client);
    stop = store.watch(server, (changed) => {
      if (changed === id) resolve();
    });
  });
  return { promise, stop: () => stop() };
}
