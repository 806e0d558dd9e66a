/** The routes that say who asks and where persons sign in; between processes of the gateway, whose token it is. */
import type { AdminAccess } from "./access.js";
import type { AdminApp } from "./caller.js";
import type { AdminListenerOptions } from "./server.js";

/** Who asks, and where the console signs a person in. Needs no token. */
export const ME_PATH = "/api/v1/me";
/** For the process that has started this one: whose token the other header has. */
export const IDENTIFY_PATH = "/internal/persons/identify";
/** For it too: where the console signs a person in. */
export const OFFER_PATH = "/internal/persons/offer";
/** What an `Authorization` header of a person is called there, beside that of the process. */
export const PERSON_HEADER = "x-cardea-authorization";

/** Adds them. */
export function addPersonRoutes(
  app: AdminApp,
  access: AdminAccess,
  { persons, access: lists, socket }: AdminListenerOptions,
): void {
  app.get(ME_PATH, async (c) => {
    const caller = await access.callerOf(c);
    const signIn = lists === undefined ? undefined : await persons?.offer();
    return c.json({
      ...(caller !== undefined && { principal: caller.principal.id, role: caller.role }),
      ...(signIn !== undefined && { signIn }),
    });
  });
  if (socket === undefined || persons === undefined) return;
  app.get(
    IDENTIFY_PATH,
    async (c) =>
      access.refusedInternal(c) ?? c.json(await persons.identify(c.req.header(PERSON_HEADER) ?? "")),
  );
  app.get(OFFER_PATH, async (c) => access.refusedInternal(c) ?? c.json((await persons.offer()) ?? null));
}
