/** Badges of states, outcomes and decisions: a colour, always with text. */
import { words } from "../format.js";

/** The severity of a badge. */
export type Tone = "good" | "warn" | "bad" | "quiet" | "info";

const TONES: Readonly<Record<string, Tone>> = {
  ready: "good",
  idle: "good",
  in_use: "good",
  starting: "info",
  needs_sign_in: "warn",
  backoff: "bad",
  misconfigured: "bad",
  stopped: "bad",
  signed_in: "good",
  ok: "good",
  tool_error: "bad",
  input_required: "info",
  cancelled: "quiet",
  allow: "good",
  deny: "bad",
  hide: "bad",
  decline: "bad",
  approve: "warn",
  redact: "warn",
  depends_on_groups: "info",
};

/** The severity of a state, an outcome or a decision; refusals are bad. */
export const toneOf = (word: string): Tone => TONES[word] ?? "bad";

/** A coloured text. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** The badge of a state, an outcome or a decision. */
export const StateBadge = ({ state }: { readonly state: string }) => (
  <Badge tone={toneOf(state)}>{words(state)}</Badge>
);
