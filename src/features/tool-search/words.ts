/** What commands say of tools that hosts find and do not list. */
import type { ExplainedLines } from "../../cli/feature.js";
import type { ExposureSettings } from "./section.js";

/** The help of `--all` of `cardea list`. */
export const ALL_HELP = "also the tools that hosts find with find_tools: tools.exposure (CARDEA_ALL)";

/** What `cardea list` says below a list that leaves tools out. */
export const findHint = (tools: number): string =>
  `hosts find ${tools} tools with find_tools; --all lists them`;

/** The line of `cardea explain` about how hosts find a tool; none if all tools are listed. */
export function explainedLines({ listing }: Readonly<Record<string, unknown>>): ExplainedLines {
  if (listing === undefined) return {};
  const { exposure, isListed } = listing as {
    readonly exposure: ExposureSettings["exposure"];
    readonly isListed: boolean;
  };
  if (exposure === "full") return {};
  const key = `tools.exposure is ${exposure}`;
  const reason = exposure === "auto" ? "the list is small enough" : "it is pinned";
  const line = isListed
    ? `hosts list it: ${key}, and ${reason}`
    : `hosts do not list it, but find it with find_tools: ${key}`;
  return { list: [line] };
}
