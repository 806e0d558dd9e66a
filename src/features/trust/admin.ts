/** What trust adds to the admin API: a page, a member of the rows of servers, and the action of an approval. */
import { z } from "zod";
import { firstAnswer, type ServerMembers } from "../../core/admin-page.js";
import type { AdminAction } from "../../core/feature.js";
import { page } from "../../http/page-schema.js";

const pin = z.enum(["off", "observe", "enforce"]);

/** `GET /api/v1/trust`. */
export const PAGE = page({
  path: "trust",
  summary: "In what the definitions of servers differ from cardea.lock",
  query: ["server", "definitions"],
  schema: z.object({
    /** Null: the gateway has no config file. */
    file: z.string().nullable(),
    lock: z.enum(["good", "absent", "unusable"]),
    reason: z.string().optional(),
    servers: z.array(
      z.object({
        server: z.string(),
        pin,
        held: z.int().min(0),
        /** What the scan has found in definitions that are not approved, from `trust.scan.minSeverity` on. */
        findings: z.array(
          z.object({
            kind: z.string(),
            name: z.string(),
            rule: z.string(),
            severity: z.enum(["low", "medium", "high"]),
            message: z.string(),
            pointer: z.string(),
            excerpt: z.string(),
          }),
        ),
        differences: z.array(
          z.object({
            kind: z.string(),
            name: z.string(),
            change: z.enum(["changed", "new", "removed"]),
            text: z.string(),
          }),
        ),
        /** With `definitions=true`: the content of its section in the lock, as it is now; null while it is unknown. */
        definitions: z.looseObject({}).nullable().optional(),
        /** Why they are null although the server is there. */
        unread: z.string().optional(),
      }),
    ),
  }),
  merge: firstAnswer,
  waits: true,
});

const shape = z.object({ pin, differences: z.int().min(0), held: z.int().min(0), findings: z.int().min(0) });

/** How the server is treated, how many of its definitions differ, how many entries are held, and how many findings count. */
export const SERVER_MEMBERS: ServerMembers = {
  schemas() {
    const { $schema: _, ...schema } = z.toJSONSchema(shape);
    return { trust: schema };
  },
};

/** A command has written the lock. */
export const APPROVED: AdminAction = {
  path: "trust/:server/approved/:id",
  summary: "Read cardea.lock again, after what differs at a server was approved there",
  noun: "an approval",
  event: "approve_definitions",
  bodySchema: () => z.toJSONSchema(z.object({})),
  answerSchema: () => z.toJSONSchema(z.object({ lock: z.string() })),
};
