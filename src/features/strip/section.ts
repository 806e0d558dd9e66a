/** The key `trust.strip`, at the top level and in a server. */
import { z } from "zod";
import { sectionOf } from "../../config/section.js";

const schema = z.boolean().exactOptional();

const section = sectionOf({
  path: "trust.strip",
  schema: schema.describe(
    "Takes control characters (but tab and line breaks) and invisible text that no script uses out of definitions, results, questions and notifications on their way to hosts (`docs/invisible-text.md`). Default: yes.",
  ),
  change: "reload",
  complete: (isOn) => isOn,
});

const serverSection = sectionOf({
  of: "server",
  path: "trust.strip",
  schema: schema.describe("Instead of `trust.strip`, for this server."),
  change: "reload",
  complete: (isOn) => isOn,
});

/** Both of them. */
export const SECTIONS = [section, serverSection];

type Settings = Readonly<Record<string, unknown>>;

/** Whether texts of a server are stripped, by what it and the file have. */
export const isStripped = (ofServer: Settings, ofFile: Settings): boolean =>
  (ofServer[section.path] ?? ofFile[section.path]) !== false;
