/** The section `trust.scan`, at the top level and in a server: what becomes of definitions in which the scan finds something. */
import { z } from "zod";
import { sectionOf } from "../../config/section.js";
import { SEVERITIES, type Severity } from "./finding.js";

const action = z.enum(["warn", "hold"]).exactOptional();
const minSeverity = z.enum(SEVERITIES).exactOptional();

const schema = z.strictObject({
  action: action.describe(
    "What becomes of a definition that `cardea.lock` does not have and in which something is found. `warn`: it is reported. `hold`: it is held until `cardea approve`. Default: `warn`.",
  ),
  minSeverity: minSeverity.describe(
    "The least severity that counts; also for the exit code of `cardea scan`. Default: `medium`.",
  ),
});

const ofServer = z.strictObject({
  action: action.describe("Instead of `trust.scan.action`, for this server."),
  minSeverity: minSeverity.describe("Instead of `trust.scan.minSeverity`, for this server."),
});

/** The settings at the top level, or of a server, as they are written. */
interface ScanKeys {
  readonly action?: "warn" | "hold";
  readonly minSeverity?: Severity;
}

/** How the definitions of a server are scanned. */
export type ScanSettings = Required<ScanKeys>;

const PATH = "trust.scan";

const section = sectionOf({
  path: "trust.scan",
  schema: schema
    .exactOptional()
    .describe("The scan of definitions while the gateway runs (`docs/scan-rules.md`). Default: none."),
  change: "reload",
  complete: (shape): ScanKeys => shape ?? {},
});

const serverSection = sectionOf({
  of: "server",
  path: "trust.scan",
  schema: ofServer.exactOptional().describe("The same for its definitions (`docs/scan-rules.md`)."),
  change: "reload",
  complete: (shape): ScanKeys => shape ?? {},
});

/** Both of them. */
export const SECTIONS = [section, serverSection];

type Settings = Readonly<Record<string, unknown>>;

/** By what a server and the file have; undefined if neither has it. */
export function scanSettings(ofServerEntry: Settings, ofFile: Settings): ScanSettings | undefined {
  const [own, all] = [ofServerEntry[PATH], ofFile[PATH]] as readonly (ScanKeys | undefined)[];
  if (own === undefined && all === undefined) return undefined;
  return { action: "warn", minSeverity: DEFAULT_SEVERITY, ...all, ...own };
}

/** The least severity that counts where nothing says another one. */
export const DEFAULT_SEVERITY: Severity = "medium";
