/** The client of a running gateway's admin listener, for commands. Requests that may start servers have no timeout. */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Reply } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import type { Gateway } from "../gateway/gateway.js";
import type { CliList } from "../gateway/views/cli-calls.js";
import type { PrincipalQuery } from "../gateway/views/explain.js";
import type { RpcError } from "../wire/envelope.js";
import { isObject, type JsonObject, stringAt } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import { Payload } from "../wire/payload.js";

/** Operations of a gateway, the command's own or a running one. */
export type GatewayClient = Pick<Gateway, "lists" | "call" | "explain" | "page" | "missing">;

/** The identity of a running gateway. */
export interface RemoteStatus {
  readonly pid: number;
  readonly configDigest?: string | undefined;
}

/** A running gateway, by the URL of its admin listener. */
export interface RemoteGateway extends GatewayClient {
  /**
   * Its process, and the digest of its live config text. `signal` cancels the request.
   *
   * @throws GatewayError like the others, also if it is not a gateway of this version
   */
  status(signal: AbortSignal): Promise<RemoteStatus>;
}

/** An admin listener. */
export interface Address {
  readonly adminUrl: string;
  readonly token?: string | undefined;
}

/**
 * The gateway at an admin listener; nothing is sent yet. Its methods throw GatewayError: `upstream_unavailable` if it
 * cannot be reached or a required server is missing, `unauthenticated` without the token, `bad_request` for an invalid
 * request.
 */
export function remoteGateway(address: Address): RemoteGateway {
  const get = async (
    path: string,
    query: readonly Parameter[] = [],
    signal?: AbortSignal,
  ): Promise<JsonObject> => {
    const words = new URLSearchParams([...query]).toString();
    const page = `/api/v1/${path}${words === "" ? "" : `?${words}`}`;
    return answerOf(await send(address, page, { signal }), address);
  };
  return {
    async status(signal) {
      const { pages } = await get("", [], signal);
      if (!Array.isArray(pages) || !pages.includes("/api/v1/lists")) throw notAdmin(address);
      const status = await get("status", [], signal);
      return { pid: Number(status.pid), configDigest: stringAt(status, "configDigest") };
    },
    async lists(kind, { as, at, all = false } = {}) {
      const { entries } = await get("lists", [
        ["kind", kind],
        ...(at === undefined ? [] : [["at", at] satisfies Parameter]),
        ...(all ? [["all", "true"] satisfies Parameter] : []),
        ...principalQuery(as),
      ]);
      return entries as CliList;
    },
    async call(name, args) {
      const body = writeJson({ name, arguments: args });
      return replyOf(answerOf(await send(address, "/api/v1/calls", { body }), address));
    },
    explain: async ({ name, args, after = [], ...as }) =>
      (await get("explain", [
        ["name", name],
        ["args", writeJson(args)],
        ...after.map((call): Parameter => ["after", call]),
        ["wait", "true"],
        ...principalQuery(as),
      ])) as unknown as Awaited<ReturnType<Gateway["explain"]>>,
    page: async (path, query = new URLSearchParams()) => get(path, [...query]),
    async missing() {
      const { missing } = await get("lists", [["kind", "prompts"]]);
      return missing as Awaited<ReturnType<Gateway["missing"]>>;
    },
  };
}

/** A page of the gateway by its path after `/api/v1/`. @throws GatewayError like the methods of `remoteGateway` */
export async function pageOf(address: Address, path: string): Promise<unknown> {
  const answer = await send(address, `/api/v1/${path}`, {});
  return answer.status === 200 ? parseJson(answer.text) : answerOf(answer, address);
}

/** The answer to an action of the gateway, by its path after `/api/v1/`. @throws GatewayError like the methods of `remoteGateway` */
export async function actAt(address: Address, path: string, body: JsonObject): Promise<JsonObject> {
  return answerOf(await send(address, `/api/v1/${path}`, { body: writeJson(body) }), address);
}

/** Of a query: its name and its value. */
type Parameter = [string, string];

/** The parameters that name a principal; none for a host without credentials. */
export function principalQuery(query: PrincipalQuery | undefined): readonly Parameter[] {
  if (query === undefined) return [];
  const { as, groups = [], scopes } = query;
  return [
    ["as", as],
    ...groups.map((group): Parameter => ["group", group]),
    ...scopes.map((scope): Parameter => ["scope", scope]),
  ];
}

function replyOf(body: JsonObject): Reply {
  const { result, error, requests } = body;
  if (isObject(result)) return { kind: "result", result: Payload.ofObject(result) };
  if (isObject(error)) return { kind: "error", error: error as unknown as RpcError };
  return { kind: "input_required", requests: isObject(requests) ? requests : {} };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface SendOptions {
  /** JSON; makes the request a POST. */
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

function send({ adminUrl, token }: Address, path: string, { body, signal }: SendOptions): Promise<Answer> {
  const url = new URL(path, adminUrl);
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    }),
  };
  return new Promise((resolve, reject) => {
    const unreachable = (cause: Error): void =>
      reject(
        new GatewayError(
          "upstream_unavailable",
          "gateway",
          `no gateway answers at ${adminUrl}: ${cause.message}`,
          {
            cause,
          },
        ),
      );
    const sent = request(
      url,
      { method: body === undefined ? "GET" : "POST", headers, ...(signal && { signal }) },
      (response) => {
        const chunks: string[] = [];
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => chunks.push(chunk));
        response.once("end", () => resolve({ status: response.statusCode ?? 0, text: chunks.join("") }));
        response.once("error", unreachable);
      },
    );
    sent.once("error", unreachable);
    sent.end(body);
  });
}

/** @throws GatewayError for anything except a JSON object with status 200 */
function answerOf({ status, text }: Answer, address: Address): JsonObject {
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    throw notAdmin(address);
  }
  if (!isObject(body)) throw notAdmin(address);
  if (status === 200) return body;
  const message = stringAt(body, "error") ?? `it answers with status ${status}`;
  if (status === 401) {
    const hint = `the gateway at ${address.adminUrl} wants the token of its admin listener (CARDEA_ADMIN_TOKEN, --token)`;
    throw new GatewayError("unauthenticated", "gateway", hint);
  }
  if (status === 404 || status === 405) throw notAdmin(address);
  throw new GatewayError(status === 503 ? "upstream_unavailable" : "bad_request", "gateway", message);
}

const notAdmin = ({ adminUrl }: Address): GatewayError =>
  new GatewayError(
    "bad_request",
    "gateway",
    `${adminUrl} is no admin listener of a gateway that can be asked this; its ready line names it after "admin:", and --fresh starts the servers instead`,
  );
