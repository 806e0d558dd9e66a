/** The timing of a call. */

import type { CallRow } from "../../features/admin/rows.js";
import { msOf } from "../format.js";

/** In chronological order. */
const PARTS = [
  ["queue", "Queue", "Waits for a free slot and for rate limits"],
  ["policy", "Policy", "Rules are evaluated"],
  ["input", "Human wait", "A person or a host answers a question"],
  ["upstream", "Upstream", "The server works, the network included"],
] as const;

/** Bars on one axis; the remainder is the gateway's own time. */
export function Waterfall({ ms }: { readonly ms: CallRow["ms"] }) {
  const known = PARTS.reduce((sum, [part]) => sum + ms[part], 0);
  // The wait for a person is between two rounds, so it may be longer than the round.
  const total = Math.max(ms.total, known, 0.001);
  const rest = total - known;
  let begin = 0;
  const bars = [
    ...PARTS.map(([part, label, about]) => ({ part: part as string, label, about, took: ms[part] })),
    { part: "gateway", label: "Gateway", about: "Everything else in the gateway", took: rest },
  ].map((bar) => {
    const from = begin;
    begin += bar.took;
    return { ...bar, from };
  });
  return (
    <ol class="waterfall" aria-label="Where the time went">
      {bars.map(({ part, label, about, took, from }) => (
        <li key={part} title={about}>
          <span class="label">{label}</span>
          <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
            <rect class="track" width="100" height="10" />
            <rect
              class={part}
              x={(100 * from) / total}
              width={took === 0 ? 0 : Math.max(0.6, (100 * took) / total)}
              height="10"
            />
          </svg>
          <span class="number">{msOf(took)}</span>
        </li>
      ))}
      <li class="total">
        <span class="label">Total</span>
        <span />
        <span class="number">{msOf(ms.total)}</span>
      </li>
    </ol>
  );
}
