/** What a server says of itself that is not approved: what differs, what the scan has found, and the command that approves it. */
import { countOf } from "../format.js";
import type { ShownServer, TrustPage } from "../state/feature-rows.js";
import { usePage } from "../state/page.js";
import { Badge, type Tone } from "../ui/badge.js";

/** More rows are counted only. */
const SHOWN = 20;

const TONES: Readonly<Record<string, Tone>> = { high: "bad", medium: "warn", low: "quiet" };

/** Nothing for a server without such definitions. */
export function ServerTrust({ server: { name, trust } }: { readonly server: ShownServer }) {
  const { differences = 0, held = 0, findings = 0 } = trust ?? {};
  if (differences + held + findings === 0) return null;
  return <OpenDefinitions name={name} held={held} version={`${differences} ${held} ${findings}`} />;
}

interface OpenDefinitionsProps {
  readonly name: string;
  readonly held: number;
  /** Changes when the page is to be read again. */
  readonly version: string;
}

function OpenDefinitions({ name, held, version }: OpenDefinitionsProps) {
  const { page, trouble } = usePage<TrustPage>(`trust?server=${encodeURIComponent(name)}`, version);
  const { findings = [], differences = [] } = page?.servers[0] ?? {};
  const more = Math.max(0, findings.length - SHOWN) + Math.max(0, differences.length - SHOWN);
  return (
    <>
      <h3>Definitions that are not approved</h3>
      {held > 0 && (
        <p class="advice">{`${countOf(held, "definition")} held: hosts do not get ${held === 1 ? "it" : "them"}, and calls are refused.`}</p>
      )}
      {trouble !== undefined && <p class="error">{trouble}</p>}
      <ul class="rows" aria-label={`Definitions of ${name} that are not approved`}>
        {findings.slice(0, SHOWN).map((each) => (
          <li key={`${each.kind} ${each.name} ${each.rule} ${each.pointer}`}>
            <Badge tone={TONES[each.severity] ?? "warn"}>{each.severity}</Badge>
            <span>
              <strong class="mono">{each.kind === "server" ? "instructions" : each.name}</strong>{" "}
              {`${each.message} (${each.rule}): `}
              <q class="mono">{each.excerpt}</q>
            </span>
          </li>
        ))}
        {differences.slice(0, SHOWN).map((each) => (
          <li key={`${each.kind} ${each.name} ${each.change}`}>
            <Badge tone="quiet">{each.change}</Badge>
            <span>
              <strong class="mono">{each.name === "" ? each.kind : each.name}</strong> {each.text}
            </span>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="quiet">{`and ${more} more`}</p>}
      <p class="quiet">
        Shows and approves it: <code>{`cardea approve ${name}`}</code>
      </p>
    </>
  );
}
