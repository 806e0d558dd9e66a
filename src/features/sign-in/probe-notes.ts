/** What does `cardea doctor` say of the issuer of a server, and of a sign-in that is missing? */
import type { ProbeNote } from "../../cli/probe.js";
import type { ShownPin } from "./login-rows.js";
import type { Step } from "./types.js";

type Safe = (text: string) => string;

/** The discovery steps, each with the quirk that would fix it. */
export const stepsNote = (steps: readonly Step[]): ProbeNote => ({
  key: "signIn",
  isLast: true,
  value: (safe) => steps.map((step) => safeStep(step, safe)),
  lines: (safe) =>
    steps.map((step) => ({ text: stepText(safeStep(step, safe)), isBad: step.outcome === "failed" })),
});

/** The authorization server that a server is bound to. */
export const pinNote = (pin: ShownPin): ProbeNote => ({
  key: "issuer",
  isLast: false,
  value: (safe) => safePin(pin, safe),
  lines: (safe) => [{ text: pinText(safePin(pin, safe)) }],
});

const safeStep = ({ what, reason, quirk, ...step }: Step, safe: Safe): Step => ({
  ...step,
  what: safe(what),
  ...(reason !== undefined && { reason: safe(reason) }),
  ...(quirk !== undefined && { quirk: safe(quirk) }),
});

const safePin = ({ issuer, endpoints, ...pin }: ShownPin, safe: Safe): ShownPin => ({
  ...pin,
  issuer: safe(issuer),
  endpoints: Object.fromEntries(Object.entries(endpoints).map(([name, origin]) => [name, safe(origin)])),
});

const HOW_PINNED = {
  first_use: "pinned at the first sign-in",
  record: "pinned by a sign-in of an earlier version",
  operator: "accepted by an operator",
  config: "from auth.issuer",
};

/** The issuer that gets the secrets of the server. */
function pinText({ issuer, endpoints, by, since }: ShownPin): string {
  const others = [...new Set(Object.values(endpoints))].filter(
    (origin) => !`${issuer}/`.startsWith(`${origin}/`),
  );
  const at = others.length > 0 ? `, with endpoints at ${others.join(", ")}` : "";
  return `issuer: ${issuer}${at}; ${HOW_PINNED[by]}${since === undefined ? "" : ` (${since.slice(0, 10)})`}`;
}

function stepText({ what, outcome, reason, quirk }: Step): string {
  const remedy = quirk === undefined ? "" : ` (auth.quirks: ${quirk})`;
  return `${outcome}: ${what}${reason === undefined ? "" : `: ${reason}`}${remedy}`;
}
