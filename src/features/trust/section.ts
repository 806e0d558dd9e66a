/** The section `trust`, at the top level and in a server: whether what servers say of themselves is compared with `cardea.lock`. */
import { z } from "zod";
import { sectionOf } from "../../config/section.js";

/** What becomes of definitions that the lock does not have. `observe`: they are reported. `enforce`: they are held. */
export type Pin = "off" | "observe" | "enforce";

const pin = z.enum(["off", "observe", "warn", "enforce"]);

const schema = z.strictObject({
  pin: pin
    .exactOptional()
    .describe(
      "What becomes of definitions that `cardea.lock` does not have. `observe` (also `warn`): they are reported. `enforce`: they are held until `cardea approve`. `off`: nothing. Default: `observe`.",
    ),
});

const ofServer = z.strictObject({
  pin: pin.exactOptional().describe("Instead of `trust.pin`, for this server."),
});

/** The settings at the top level, or of a server. */
export interface TrustSettings {
  /** Undefined in a server: as at the top level. */
  readonly pin: Pin | undefined;
}

declare module "../../config/config.js" {
  interface FeatureSettings {
    readonly trust?: TrustSettings;
  }
  interface ServerFeatureSettings {
    readonly trust?: TrustSettings;
  }
}

const pinOf = (word: z.output<typeof pin> | undefined): Pin | undefined =>
  word === "warn" ? "observe" : word;

const section = sectionOf({
  path: "trust",
  schema: schema
    .exactOptional()
    .describe("Definitions of servers, as `cardea.lock` has approved them (`docs/trust.md`)."),
  change: "reload",
  complete: (shape): TrustSettings => ({ pin: pinOf(shape?.pin) }),
});

const serverSection = sectionOf({
  of: "server",
  path: "trust",
  schema: ofServer.exactOptional().describe("The same for its definitions (`docs/trust.md`)."),
  change: "reload",
  complete: (shape): TrustSettings => ({ pin: pinOf(shape?.pin) }),
  // Of Gemini CLI: whether it asks before a call.
  fromHost(server, warn) {
    const member = server.get("trust");
    if (member === undefined || member.value.kind === "object") return;
    server.delete("trust");
    warn("trust", member, "is the host's own and is ignored");
  },
});

/** Both of them. */
export const SECTIONS = [section, serverSection];

/** How a server is treated. */
export const effectivePin = (ofServer: TrustSettings | undefined, ofFile: TrustSettings | undefined): Pin =>
  ofServer?.pin ?? ofFile?.pin ?? "observe";
