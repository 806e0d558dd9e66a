/** The section `tools`, and the keys beside the filters in `tools` of a profile. */
import { z } from "zod";
import type { FeatureSettings, ProfileFeatureSettings } from "../../config/config.js";
import { type OwnToolNames, sectionOf } from "../../config/section.js";
import { globs } from "../../config/server-schema.js";
import { SEARCH_TOOL_NAMES } from "./own-tools.js";

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

const schema = z.strictObject({
  exposure: exposure.default("full"),
  pinned: pinned.default([]),
  autoThreshold: autoThreshold.default(10_000),
});

/** Which tools hosts list. */
export interface ExposureSettings {
  readonly exposure: "full" | "search" | "auto";
  /** Globs over exposed names of tools that are always listed. */
  readonly pinned: readonly string[];
  /** With `auto`: the size of a list, in tokens, above which it is not shown in full. */
  readonly autoThreshold: number;
}

declare module "../../config/config.js" {
  interface FeatureSettings {
    readonly tools?: ExposureSettings;
  }
  interface ProfileFeatureSettings {
    readonly "tools.exposure"?: ExposureSettings["exposure"];
    readonly "tools.pinned"?: ExposureSettings["pinned"];
    readonly "tools.autoThreshold"?: ExposureSettings["autoThreshold"];
  }
}

const offered = (setting: ExposureSettings["exposure"]): OwnToolNames | undefined =>
  setting === "full" ? undefined : { names: SEARCH_TOOL_NAMES, setting: "tools.exposure" };

const section = sectionOf({
  path: "tools",
  after: "naming",
  schema: schema
    .prefault({})
    .describe("Which tools hosts list, at every URL; a profile can say otherwise (`docs/search.md`)."),
  change: "reload",
  complete: (shape): ExposureSettings => shape,
  exposed: (settings, expose) => ({ ...settings, pinned: settings.pinned.map(expose) }),
  ownTools: (settings) => offered(settings.exposure),
});

/** What a profile does not say is as at the top level. */
const OF_PROFILE = [
  sectionOf({
    of: "profile",
    path: "tools.exposure",
    schema: exposure.exactOptional(),
    change: "reload",
    complete: (setting) => setting,
    ownTools: offered,
  }),
  sectionOf({
    of: "profile",
    path: "tools.pinned",
    schema: pinned.exactOptional(),
    change: "reload",
    complete: (globsOfProfile) => globsOfProfile,
    exposed: (settings, expose) => settings.map(expose),
  }),
  sectionOf({
    of: "profile",
    path: "tools.autoThreshold",
    schema: autoThreshold.exactOptional(),
    change: "reload",
    complete: (tokens) => tokens,
  }),
];

/** All of them. */
export const SECTIONS = [section, ...OF_PROFILE];

/** The settings at the top level. */
export const exposureOf = ({ tools }: FeatureSettings): ExposureSettings =>
  tools ?? { exposure: "full", pinned: [], autoThreshold: 0 };

/** Those of a profile; undefined if they are as at the top level. */
export function exposureOfProfile(
  own: ProfileFeatureSettings,
  gateway: ExposureSettings,
): ExposureSettings | undefined {
  const [exposed, pins, tokens] = [own["tools.exposure"], own["tools.pinned"], own["tools.autoThreshold"]];
  if (exposed === undefined && pins === undefined && tokens === undefined) return undefined;
  return {
    exposure: exposed ?? gateway.exposure,
    pinned: pins ?? gateway.pinned,
    autoThreshold: tokens ?? gateway.autoThreshold,
  };
}
