/** Which settings can the tools of a server have? Checks of calls, and overrides of how tools are listed. */
import { z } from "zod";

const bytes = z.int().min(1).max(1_073_741_824);

/** The zod schema of `checks`. */
export const checksSchema = z.strictObject({
  arguments: z
    .boolean()
    .default(false)
    .describe(
      "Whether the arguments of a call must be what the tool's input schema asks for; if not, the server never hears of it.",
    ),
  results: z
    .boolean()
    .default(false)
    .describe("Whether a result must be what the tool's output schema promises; if not, it is withheld."),
  maxArgumentBytes: bytes
    .exactOptional()
    .describe(
      "The most bytes that the arguments of a call may have as JSON. Default: what the body may have.",
    ),
  maxResultBytes: bytes
    .exactOptional()
    .describe("The most bytes that a result may have as JSON; a longer one is withheld. Default: no limit."),
});

/** Shown names may hold anything that can be seen. */
const VISIBLE_TEXT = /^[^\p{C}]*$/u;

const values = z.record(z.string().min(1), z.unknown());

const toolArguments = z.strictObject({
  defaults: values
    .default({})
    .describe("What an argument is when a host leaves it out. The host's schema asks for it no more."),
  fixed: values
    .default({})
    .describe(
      "What an argument always is. It disappears from the schema that hosts see, and a host that sends it all the same is not listened to.",
    ),
});

/** The zod schema of `overrides`. */
export const overridesSchema = z.record(
  z.string().min(1),
  z
    .strictObject({
      name: z
        .string()
        .regex(VISIBLE_TEXT, { error: "cannot hold control characters" })
        .min(1)
        .max(128)
        .exactOptional()
        .describe(
          "The name in place of its own; the prefix comes before it. Rules and limits go by this one.",
        ),
      title: z.string().min(1).exactOptional().describe("The title in place of its own."),
      description: z.string().exactOptional().describe("The description in place of its own."),
      arguments: toolArguments
        .exactOptional()
        .describe("Arguments that the config gives. Rules judge the call as its server gets it, with these."),
    })
    .meta({ id: "override" }),
);
