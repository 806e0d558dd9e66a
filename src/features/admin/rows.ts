/** What the pages of the admin API answer, inferred from their schemas; also for the console, which imports nothing else. */
import type { z } from "zod";
import type { Shown } from "../../http/page-schema.js";
import type * as schemas from "./api-schemas.js";

type Answer<Name extends keyof typeof schemas> = Shown<z.output<(typeof schemas)[Name]>>;

/** `status` */
export type Status = Answer<"status">;
/** One of `servers` */
export type ServerRow = Answer<"servers">[number];
/** One of `problems` */
export type ProblemRow = Answer<"problems">[number];
/** `catalog` */
export type Catalog = Answer<"catalog">;
/** One of a list of `catalog` */
export type CatalogRow = Catalog["tools"][number];
/** One of `sessions` */
export type SessionRow = Answer<"sessions">[number];
/** One of `questions` */
export type QuestionRow = Answer<"questions">[number];
/** One of `calls`, and of its stream */
export type CallRow = Answer<"call">;
/** One of `calls/running` */
export type RunningCall = Answer<"runningCalls">[number];
/** `history`: one value per step */
export type History = Answer<"history">;
/** `tools/disabled` */
export type DisabledToolsPage = Answer<"disabledTools">;
