/** The routes by which a link unlocks the console: one makes a link, for a command; the other one is for the page that it opens. */

import { type ClientAddress, networkOf } from "../../http/client-address.js";
import type { AdminAccess } from "./access.js";
import { bodyObject } from "./body-text.js";
import type { AdminApp } from "./caller.js";
import { type ConsoleLinks, LINK_SECONDS } from "./console-links.js";

/** Answers with the code of a new link. */
export const LINK_PATH = "/api/v1/console/link";
/** Needs no token but the code. */
export const UNLOCK_PATH = "/api/v1/console/unlock";

/** Of the body with a code: who sends it is not known yet. */
const MAX_CODE_BYTES = 1_024;

const SPENT =
  "this link does not unlock the console: it was used already, is older than a minute, or comes from another run of the gateway; cardea console makes a new one";

/** Adds both. */
export function addConsoleRoutes(
  app: AdminApp,
  links: ConsoleLinks,
  access: AdminAccess,
  addressOf: ClientAddress,
): void {
  app.post(
    LINK_PATH,
    (c) => access.refusedLink(c) ?? c.json({ code: links.issue(), expiresIn: LINK_SECONDS }),
  );
  app.post(UNLOCK_PATH, async (c) => {
    const refused = access.refusedPost(c);
    if (refused !== undefined) return refused;
    const { code } = await bodyObject(c.req.raw, MAX_CODE_BYTES);
    const redeemed = links.redeem(code, networkOf(addressOf(c.env.incoming)));
    if (redeemed === undefined) return c.json({ error: SPENT }, 403);
    if ("token" in redeemed) return c.json(redeemed);
    const { retryAfter } = redeemed;
    const error = `too many links were tried; try again in ${retryAfter} s`;
    return c.json({ error }, 429, { "retry-after": String(retryAfter) });
  });
}
