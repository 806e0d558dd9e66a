/** What the sandbox adds to the admin API: a member of the rows of servers. */
import { z } from "zod";
import type { ServerMembers } from "../../core/admin-page.js";

/** Whether the process of a server that was started last has a sandbox; null for one without a process. */
export const SERVER_MEMBERS: ServerMembers = {
  schemas() {
    const { $schema: _, ...schema } = z.toJSONSchema(z.boolean().nullable());
    return { fenced: schema };
  },
};
