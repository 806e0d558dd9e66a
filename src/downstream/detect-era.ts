/** Which protocol era a message belongs to; asked once per message, the body before the header. */
import { type Batch, type Envelope, isBatch } from "../wire/envelope.js";
import { objectAt } from "../wire/json.js";
import { LEGACY_REVISIONS, META } from "../wire/names.js";

/** `modern` is revision 2026-07-28, `legacy` every earlier one. */
export type Era = "legacy" | "modern";

/**
 * The era of a POST or of a line on a pipe (spec 2026-07-28: basic/versioning, "Backward Compatibility"). A
 * version claimed in the body's `_meta` makes it modern, whatever else it carries; without one only the
 * version header can. `initialize` without a claim and batches exist in the legacy era alone.
 *
 * On a pipe `notifications/cancelled` carries no claim in either era: it must be shown to both.
 *
 * @param version the `MCP-Protocol-Version` header, where there are headers
 */
export function eraOfMessage(message: Envelope | Batch, version?: string): Era {
  if (isBatch(message)) return "legacy";
  const meta = objectAt(message.params, "_meta");
  if (meta !== undefined && Object.hasOwn(meta, META.protocolVersion)) return "modern";
  return message.method === "initialize" ? "legacy" : eraOfHeader(version);
}

/** The era of a request without a body, and of one whose body claims nothing. */
export function eraOfHeader(version: string | undefined): Era {
  return version !== undefined && REVISION.test(version) && version > LEGACY_REVISIONS[0]
    ? "modern"
    : "legacy";
}

/** Revisions are dates, so text order is their order; whatever is no date is for the legacy era to refuse. */
const REVISION = /^\d{4}-\d{2}-\d{2}$/;
