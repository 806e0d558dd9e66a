/** Why does a server not answer at its address, and what should be done? */
import type { ServerConfig } from "../config/config.js";
import { GatewayError } from "../core/errors.js";
import { signInCommand } from "../core/sign-in-command.js";
import type { ProxyError } from "../outgoing/proxy.js";
import type { Diagnosis } from "./diagnose.js";
import { codesOf, messageOf, proxyErrorOf, statusOf } from "./error-facts.js";

type Address = Pick<Extract<ServerConfig["transport"], { kind: "http" }>, "url">;

/** Why a server at this URL could not be connected. `as`: the argument of `cardea login --as`, where each person signs in there. */
export function diagnoseAddress({ url }: Address, error: unknown, as?: string): Diagnosis {
  const at = new URL(url);
  const message = messageOf(error);
  const proxy = proxyErrorOf(error);
  if (proxy !== undefined) return diagnoseProxy(proxy, at.host);
  return (
    diagnoseConnection(at, codesOf(error), message) ??
    diagnoseRefusal(error, message, as) ??
    diagnoseStatus(at, statusOf(error)) ??
    diagnoseAnswer(at, message)
  );
}

/** No connection was made; undefined if one was. */
function diagnoseConnection(
  { host, hostname }: URL,
  codes: readonly string[],
  message: string,
): Diagnosis | undefined {
  const has = (...wanted: readonly string[]): boolean => wanted.some((code) => codes.includes(code));
  if (has("ENOTFOUND", "EAI_AGAIN")) {
    return {
      cause: "host_not_found",
      sentence: `no such host: ${hostname}`,
      advice: "is the name right, and is there a network?",
    };
  }
  if (has("ECONNREFUSED")) {
    return {
      cause: "nobody_listens",
      sentence: `connection refused: no server listens at ${host}`,
      advice: "start the server, or fix the port",
    };
  }
  if (!codes.some((code) => /CERT|^ERR_TLS|^ERR_SSL|^EPROTO|SELF_SIGNED|UNABLE_TO_/.test(code)))
    return undefined;
  const authority = codes.some((code) => /SELF_SIGNED|UNABLE_TO_/.test(code));
  return {
    cause: "tls",
    sentence: `the secure connection cannot be made: ${message}`,
    ...(authority && {
      advice: `if you trust its authority, give its certificate as tls.ca of this server, such as "\${file:/etc/ssl/corp.pem}", or name its file in NODE_EXTRA_CA_CERTS`,
    }),
  };
}

/** It wants other credentials; undefined if it does not say so. */
function diagnoseRefusal(error: unknown, message: string, as: string | undefined): Diagnosis | undefined {
  if (error instanceof GatewayError && error.code === "sign_in_required") {
    const command = signInCommand(error.options.server ?? "SERVER", as);
    return {
      cause: "credentials",
      sentence: `it answers 401: ${as === undefined ? "it needs a sign-in" : "each person signs in there"}`,
      advice: `run "${command}"; if it takes a fixed key instead, set it under headers, such as "Authorization": "Bearer \${TOKEN}"`,
    };
  }
  const status = statusOf(error);
  if (status !== 401 && status !== 403) return undefined;
  return {
    cause: "credentials",
    sentence: `it answers ${status}${refusedBy(message) ?? `: it needs ${status === 403 ? "other " : ""}credentials`}`,
    advice: `give them under headers, such as "Authorization": "Bearer \${TOKEN}"`,
  };
}

/** It answers with another status; undefined without one. */
function diagnoseStatus({ host, pathname }: URL, status: number | undefined): Diagnosis | undefined {
  if (status === undefined) return undefined;
  if (status === 404) {
    return {
      cause: "not_found",
      sentence: `there is nothing at ${pathname}`,
      advice: "is the path right? Often it ends in /mcp or /sse",
    };
  }
  if (status >= 500) {
    return {
      cause: "server_error",
      sentence: `it answers with status ${status}: ${host}, or what is behind it, is down or overloaded`,
      advice: "see the server's own log, and try again",
    };
  }
  return {
    cause: "speaks_no_mcp",
    sentence: `it does not speak MCP at ${pathname}: it answers with status ${status}`,
  };
}

/** What it answers is no MCP, or it answers nothing. */
function diagnoseAnswer({ host, pathname, protocol }: URL, message: string): Diagnosis {
  if (/did not answer within/.test(message)) {
    return {
      cause: "no_answer",
      sentence: `${host} does not answer in time`,
      advice: "raise connectTimeout if it is only slow",
    };
  }
  if (/not HTTP/.test(message) && protocol === "http:") {
    return {
      cause: "speaks_no_mcp",
      sentence: `what listens at ${host} does not speak HTTP`,
      advice: "is it https:?",
    };
  }
  if (/content type|not a JSON-RPC|no valid response|HTML/i.test(message)) {
    return { cause: "speaks_no_mcp", sentence: `it does not speak MCP at ${pathname}: ${message}` };
  }
  return { cause: /refused initialize/.test(message) ? "refused" : "unreachable", sentence: message };
}

/** The proxy is at fault, or does not allow the connection; the server was not asked. */
function diagnoseProxy({ message, kind, proxyStatus }: ProxyError, host: string): Diagnosis {
  const direct = `if ${host} is reached without a proxy, name it in NO_PROXY or set "proxy": "none" for this server`;
  const advice =
    proxyStatus === 407
      ? "write the user and the password into the URL of the proxy, before its host: USER:PASSWORD@HOST:PORT"
      : kind === "refused"
        ? `ask the operator of the proxy; ${direct}`
        : `fix the address of the proxy; ${direct}`;
  return { cause: "proxy", sentence: message, advice };
}

/** What a 401 that asks for no sign-in says: for which scheme, and in the server's own words. */
const refusedBy = (message: string): string | undefined =>
  / answered 401 Unauthorized((?: and asks for [\w -]+)?: the credentials in the config were refused.*)$/s.exec(
    message,
  )?.[1];
