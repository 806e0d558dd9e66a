/** Facts of an error and its causes: system codes, HTTP status, message. */

import { ProxyError } from "../outgoing/proxy.js";

/** Every string `code`, from the error down to its last cause. */
export function codesOf(error: unknown): readonly string[] {
  return chain(error).flatMap((link) => ("code" in link && typeof link.code === "string" ? [link.code] : []));
}

/** The HTTP status of the error or its causes. */
export function statusOf(error: unknown): number | undefined {
  for (const link of chain(error)) {
    if ("status" in link && typeof link.status === "number") return link.status;
  }
  return undefined;
}

/** The error of a proxy, where that is the cause. */
export const proxyErrorOf = (error: unknown): ProxyError | undefined =>
  chain(error).find((link) => link instanceof ProxyError);

/** The message of an error, for a log line. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : "something unexpected happened";

function chain(error: unknown): readonly Error[] {
  const links: Error[] = [];
  for (let link = error; link instanceof Error && !links.includes(link); link = link.cause) {
    links.push(link);
    // For a name with several addresses, each attempt has its own error.
    if (link instanceof AggregateError) links.push(...link.errors.filter((each) => each instanceof Error));
  }
  return links;
}
