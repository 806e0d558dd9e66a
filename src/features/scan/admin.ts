/** What the scan adds to the admin API: a page. */
import { z } from "zod";
import { page, type Shown } from "../../http/page-schema.js";
import { RULES, type RuleId, SEVERITIES } from "./finding.js";

const finding = z.object({
  rule: z.enum(Object.keys(RULES) as [RuleId, ...RuleId[]]),
  severity: z.enum(SEVERITIES),
  message: z.string(),
  server: z.string(),
  kind: z.enum(["tools", "prompts", "resources", "resourceTemplates", "server"]),
  name: z.string(),
  pointer: z.string(),
  excerpt: z.string(),
});

const report = z.object({
  /** The number of definitions. */
  definitions: z.int().min(0),
  servers: z.array(z.string()),
  findings: z.array(finding),
});
/** What a scan says. */
export type ScanReport = Shown<z.output<typeof report>>;

/** `GET /api/v1/scan`: every worker has the same servers, so one answers. */
export const PAGE = page({
  path: "scan",
  summary: "What the definitions of servers say that they should not",
  schema: report,
  merge: (answers): ScanReport => answers[0].body,
  waits: true,
});
