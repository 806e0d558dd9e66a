/** The section `listen.admin` of the config: where operators connect. */
import { z } from "zod";
import type { ListenConfig } from "../../config/config.js";
import { host, port } from "../../config/schema.js";
import { type SectionFault, sectionOf } from "../../config/section.js";
import { isLoopback } from "../../http/loopback.js";
import { type AccessLists, accessSchema } from "./access-lists.js";

/** Text with a secret in it, or its hash. */
const adminToken = z
  .string()
  .refine((text) => text.length >= 16 && /^[\x21-\x7e]+$/.test(text), {
    error: "must have at least 16 characters, none of them a space",
  })
  .meta({ pattern: "^[!-~]{16,}$|\\$\\{" });

const schema = z.strictObject({
  host: host.default("127.0.0.1").describe("The address of health checks, metrics and the status API."),
  port: port.default(8081).describe("Its port; 0 picks a free one."),
  token: adminToken
    .exactOptional()
    .describe(
      "Required as `Authorization: Bearer …` for everything but health checks. At least 16 characters; a variable, or `sha256:` and the hash of the token. Without it the listener binds to loopback only.",
    ),
  access: accessSchema
    .exactOptional()
    .describe(
      "Persons who may use the admin API and the console, with `auth.signIn` or `auth.jwt`: with a token of the same issuer, by the groups in it (`docs/admin-api.md`). Default: only those who have the token.",
    ),
  showArguments: z
    .boolean()
    .default(false)
    .describe(
      "Whether live calls show the arguments and the result of each call: without known secrets, and cut to 2,000 characters.",
    ),
});

/** Where operators connect. */
export interface AdminListen {
  readonly host: string;
  readonly port: number;
  /** In plain text, or `sha256:` and its hash; absent if none is required on loopback. */
  readonly token?: string;
  /** Which persons may read and act; absent if none may. */
  readonly access?: AccessLists;
  /** Whether live calls show arguments and results. */
  readonly showArguments: boolean;
}

declare module "../../config/config.js" {
  interface FeatureSettings {
    /** Absent where no section was read. */
    readonly "listen.admin"?: AdminListen;
  }
}

/** Is always there. */
export const section = sectionOf({
  path: "listen.admin",
  schema: schema.prefault({}).describe("The listener for operators."),
  change: "restart",
  faultsOf: ({ access }, { auth }) =>
    access === undefined || auth?.jwt !== undefined || hasSignIn(auth)
      ? []
      : [{ path: ["listen", "admin", "access"], message: WITHOUT_ISSUER }],
  complete: (shape): AdminListen => ({ ...shape, port: Number(shape.port) }),
  conflictsOf: portConflict,
  obstaclesOf: exposure,
  secretsOf: ({ token }) => (token === undefined ? [] : [token]),
});

/** The problem of two listeners on one address; ports that the system picks never collide. */
function portConflict(admin: AdminListen, { http }: ListenConfig): readonly SectionFault[] {
  const [one, other] = [http.host, admin.host].map((address) => address.toLowerCase());
  const overlap = one === other || [one, other].some((address) => address === "0.0.0.0" || address === "::");
  if (http.port === 0 || http.port !== admin.port || !overlap) return [];
  const message = `listen.http and listen.admin would both be at port ${http.port}; one of them needs another (--port, --admin-port)`;
  return [{ path: ["listen", "admin", "port"], message }];
}

const WITHOUT_ISSUER =
  "listen.admin.access needs auth.signIn or auth.jwt: persons are known by the tokens of an issuer";

/** `auth.signIn` is a section of a feature. */
const hasSignIn = (auth: object | undefined): boolean =>
  (auth as { readonly signIn?: unknown } | undefined)?.signIn !== undefined;

function exposure({ host: address, token, access }: AdminListen): readonly Omit<SectionFault, "key">[] {
  if (token !== undefined || access !== undefined || isLoopback(address)) return [];
  const message = `serve refuses to listen on ${address}, beyond this machine, without a "token" or "access" for the admin listener`;
  return [{ path: ["listen", "admin", "host"], message }];
}
