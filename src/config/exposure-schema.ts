/** The schema of tool exposure, at the top level of the config and in profiles. */
import { z } from "zod";
import { globs } from "./server-schema.js";

const exposure = z
  .enum(["full", "search", "auto"])
  .describe(
    "`full`: hosts list all tools. `search`: they list `find_tools`, `call_tool` and the pinned tools; the others are found and called through these two. `auto`: `search` where the list is larger than `autoThreshold`, and `full` for hosts that load definitions on demand by themselves (Claude Code, Codex).",
  );
const pinned = globs.describe(
  "Globs over exposed names of tools that hosts list with `search`, too. A tool that is not listed can be called by its name all the same.",
);
const autoThreshold = z
  .int()
  .min(0)
  .max(10_000_000)
  .describe(
    "With `auto`: the size of the list, in estimated tokens (bytes / 4), above which it is `search`.",
  );

/** The zod schema of the top-level `tools`. */
export const exposureSchema = z.strictObject({
  exposure: exposure.default("full"),
  pinned: pinned.default([]),
  autoThreshold: autoThreshold.default(10_000),
});

/** The same keys in a profile; missing ones default to the top level. */
export const profileExposure = {
  exposure: exposure.exactOptional(),
  pinned: pinned.exactOptional(),
  autoThreshold: autoThreshold.exactOptional(),
};
