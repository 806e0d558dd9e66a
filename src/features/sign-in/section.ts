/** The section `auth` of a server: how the gateway signs in to it. */
import { sectionOf } from "../../config/section.js";
import type { ServerAuthConfig } from "../../config/server-auth.js";
import { serverAuthSchema } from "./config/auth-schema.js";
import { loginCollisions } from "./config/collisions.js";
import { completeServerAuth, secretsOf } from "./config/complete-auth.js";
import { moveSignIn } from "./config/host-auth.js";

/** The gateway reads whose credentials it means. A changed one starts the server again. */
export const section = sectionOf({
  of: "server",
  path: "auth",
  after: "forwardHeaders",
  schema: serverAuthSchema
    .exactOptional()
    .describe(
      "How the gateway signs in to the server (`docs/sign-in.md`). Default: `oauth` as each principal if an HTTP server requires it and `headers` has no `Authorization`.",
    ),
  change: "restart",
  complete: (shape, _, server): ServerAuthConfig | undefined => completeServerAuth(shape, server),
  completeAbsent: (server) => completeServerAuth(undefined, server),
  secretsOf: (settings) => secretsOf(settings),
  fromHost: moveSignIn,
  collisions: loginCollisions,
});
