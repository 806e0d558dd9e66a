/** Authorization servers that need a quirk which their metadata does not show. */
import type { ClientRegistration } from "../../vault/types.js";
import type { AuthorizationServer, Quirks, Step } from "../types.js";

interface Deviation {
  readonly hosts: RegExp;
  readonly isSet: (quirks: Quirks) => boolean;
  readonly quirk: string;
  /** `failed` if sign-in is impossible without the quirk. */
  readonly outcome: "failed" | "skipped";
  readonly reason: string;
}

/** docs/sign-in-quirks.md explains each. */
const DEVIATIONS: readonly Deviation[] = [
  {
    hosts: /^login\.(?:microsoftonline\.(?:com|us)|partner\.microsoftonline\.cn|windows\.net)$/,
    isSet: ({ noResource = false }) => noResource,
    quirk: "no-resource",
    outcome: "failed",
    reason: "Microsoft Entra refuses the parameter resource (AADSTS9010010), which RFC 8707 defines.",
  },
  {
    hosts: /^github\.com$/,
    isSet: ({ redirectHost }) => redirectHost !== undefined,
    quirk: "redirect-host: localhost",
    outcome: "skipped",
    reason:
      "GitHub compares the redirect URI literally: where the app registers localhost, 127.0.0.1 is refused.",
  },
  {
    hosts: /^(?:www\.|api\.)?figma\.com$/,
    isSet: ({ clientName }) => clientName !== undefined,
    quirk: "client-name: NAME",
    outcome: "failed",
    reason: "Figma registers only clients whose name it lists.",
  },
];

/** The steps about this authorization server and its quirk; none if the quirk is set. */
export function knownDeviations({ issuer }: AuthorizationServer, quirks: Quirks): readonly Step[] {
  const { hostname } = new URL(issuer);
  return DEVIATIONS.filter(({ hosts, isSet }) => hosts.test(hostname) && !isSet(quirks)).map(
    ({ quirk, reason, outcome }) => ({
      what: `check what is known of ${hostname}`,
      outcome,
      reason,
      quirk,
    }),
  );
}

/** Errors, by code or description, and the quirk that avoids them. */
const SYMPTOMS: readonly (readonly [symptom: RegExp, quirk: string])[] = [
  [/^invalid_target\b|AADSTS9010010|resource (?:parameter|indicator)/i, "no-resource"],
  [/redirect[_ ]ur[il]/i, "redirect-host: localhost"],
  [/^invalid_client\b/i, "basic-raw"],
];

/**
 * The quirk that an error of an authorization or token request suggests, as written in the config; undefined for none.
 *
 * @param authMethod of the client: `basic-raw` is suggested only for `client_secret_basic`
 */
export function suggestedQuirk(
  error: string,
  description = "",
  authMethod?: ClientRegistration["tokenEndpointAuthMethod"],
): string | undefined {
  const found = SYMPTOMS.find(([symptom]) => symptom.test(`${error} ${description}`))?.[1];
  return found === "basic-raw" && authMethod !== "client_secret_basic" ? undefined : found;
}
