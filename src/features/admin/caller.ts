/** Who sends a request of the admin listener, as its routes read it, and as one process of the gateway tells it another. */
import type { IncomingHttpHeaders } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import type { AdminCaller, AdminRole } from "../../core/admin-page.js";
import type { Principal } from "../../core/client.js";
import { isSamePrincipal, principalOf } from "../../core/principal.js";
import { isObject } from "../../wire/json.js";
import { parseJson, writeJson } from "../../wire/json-text.js";

/** `caller` is absent for a local process without a token, where the listener needs none. */
interface AdminEnv {
  Bindings: HttpBindings;
  Variables: { caller?: AdminCaller };
}

/** The routes of the listener. */
export type AdminApp = Hono<AdminEnv>;
/** A request of the admin listener. */
export type AdminContext = Context<AdminEnv>;

/** The principal of all who have a token of the listener. */
const ADMIN_TOKEN = principalOf("gateway", "admin-token");

/** Who has a token of the listener. */
export const adminToken = (address: string | undefined): AdminCaller => ({
  ...{ principal: ADMIN_TOKEN, role: "operator" },
  ...(address !== undefined && { address }),
});

/** Who acts, in logs and in the audit log. */
export interface Operator {
  readonly principal: string;
  readonly address?: string;
}

/** The person who asks, for whom a call is made; undefined for all who have a token of the listener. */
export const personOf = (caller: AdminCaller | undefined): Principal | undefined =>
  caller === undefined || isSamePrincipal(caller.principal, ADMIN_TOKEN) ? undefined : caller.principal;

/** The words for a caller. */
export const operatorOf = ({ principal, address }: AdminCaller): Operator => ({
  principal: principal.id,
  ...(address !== undefined && { address }),
});

/** Of a request between processes of this gateway. */
const HEADER = "x-cardea-caller";

/** The header by which one process tells another for whom it asks; none for a caller without a token. */
export const callerHeader = (caller: AdminCaller | undefined): Readonly<Record<string, string>> =>
  caller === undefined ? {} : { [HEADER]: Buffer.from(writeJson(caller)).toString("base64url") };

/** The caller in that header. Only another process of this gateway can be believed. */
export function callerIn({ [HEADER]: text }: IncomingHttpHeaders): AdminCaller | undefined {
  if (typeof text !== "string") return undefined;
  const caller = parseJson(Buffer.from(text, "base64url").toString("utf8"));
  return isObject(caller) && isObject(caller.principal) ? (caller as unknown as AdminCaller) : undefined;
}

/** The request headers without that one, which a client of the listener cannot set. */
export const withoutCaller = ({ [HEADER]: _, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders =>
  headers;

const ROLES: Readonly<Record<AdminRole, number>> = { person: 0, viewer: 1, operator: 2 };

/** Whether `role` may what `needed` may. */
export const isAtLeast = (role: AdminRole, needed: AdminRole): boolean => ROLES[role] >= ROLES[needed];
