/** What packages add to the admin API: a member of the rows of servers. */
import { z } from "zod";
import type { ServerMembers } from "../../core/admin-page.js";

const shape = z.object({
  runner: z.string(),
  name: z.string(),
  version: z.string().nullable(),
  pinned: z.boolean(),
});

/** The package that a server runs; null for one that no runner fetches, or that was not started yet. */
export const SERVER_MEMBERS: ServerMembers = {
  schemas() {
    const { $schema: _, ...schema } = z.toJSONSchema(shape.nullable());
    return { package: schema };
  },
};
