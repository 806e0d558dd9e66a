/** What a browser asks of the page: to be shown, or one action of a form. */
import type { IncomingMessage } from "node:http";
import { badRequest } from "../../core/errors.js";

/** The path of the page. It is never that of the MCP endpoint, which has a name. */
export const PAGE_PATH = "/";

/** Whether a request may be a form of the page. */
export const isForm = ({ method, headers }: Pick<IncomingMessage, "method" | "headers">): boolean =>
  method === "POST" && FORM.test(headers["content-type"] ?? "");

const FORM = /^application\/x-www-form-urlencoded(?:\s*;|$)/i;

/** A button of the page. */
type PageAction = "sign-in" | "sign-out" | "connect" | "disconnect";
const ACTIONS: readonly string[] = ["sign-in", "sign-out", "connect", "disconnect"] satisfies PageAction[];

/** What was pressed, and for `connect` and `disconnect` at which server. */
export interface PressedButton {
  readonly action: PageAction;
  readonly server: string;
}

/** A form of the page has few bytes; the name of a server is the longest. */
const MAX_BYTES = 4_096;

/** Reads the form. @throws GatewayError `bad_request` */
export async function readButton(request: IncomingMessage): Promise<PressedButton> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_BYTES) throw badRequest("the form is too large");
    chunks.push(chunk as Buffer);
  }
  const form = new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
  const action = form.get("action") ?? "";
  if (!isAction(action)) throw badRequest("the form names no action of this page; load it again");
  return { action, server: form.get("server") ?? "" };
}

const isAction = (text: string): text is PageAction => ACTIONS.includes(text);

/** The name of the endpoint that a person has opened in the browser; "" for the whole gateway. */
export function askedEndpoint({ url = "" }: Pick<IncomingMessage, "url">): string {
  return new URLSearchParams(url.split("?").slice(1).join("?")).get("at") ?? "";
}
