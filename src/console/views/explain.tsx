/** Explains a call: the decision of the rules, and why. */
import { useState } from "preact/hooks";
import { getPage, Refused, TokenNeeded } from "../state/api.js";
import { calls } from "../state/calls.js";
import { gateway } from "../state/gateway.js";
import { useStore } from "../state/store.js";
import { StateBadge } from "../ui/badge.js";
import { JsonBlock } from "../ui/json-block.js";
import { Fact, Panel, Table } from "../ui/panel.js";

/** What the fields propose at most. */
const MOST_NAMES = 500;

/** The page `explain`, with the members that the console uses. */
export interface Explained {
  readonly unknown?: string;
  readonly effect?: string;
  readonly rule?: string;
  readonly server?: string;
  readonly target?: string;
  readonly badArguments?: string;
  readonly message?: string;
  readonly rules?: readonly {
    readonly rule: string;
    readonly effect: string;
    readonly matches: boolean;
    readonly decides: boolean;
    readonly why: string;
  }[];
  readonly listing?: { readonly exposure: string; readonly isListed: boolean };
}

/** The form and the gateway's response. No server receives the call. */
export function ExplainPanel() {
  const { catalog, sessions } = useStore(gateway);
  const { rows } = useStore(calls);
  const entries = [catalog.tools, catalog.prompts, catalog.resources].flat();
  const principals = [...sessions, ...rows].map(({ principal }) => principal);
  const [answer, setAnswer] = useState<Explained>();
  const [trouble, setTrouble] = useState<string>();
  const ask = async (form: FormData): Promise<void> => {
    const query = new URLSearchParams();
    for (const [name, value] of form) if (typeof value === "string" && value !== "") query.set(name, value);
    try {
      setAnswer(await getPage<Explained>(`explain?${query}`));
      setTrouble(undefined);
    } catch (error) {
      if (!(error instanceof Refused || error instanceof TokenNeeded)) throw error;
      setAnswer(undefined);
      setTrouble(error.message);
    }
  };
  return (
    <Panel title="Explain a call">
      <form
        class="explain"
        onSubmit={(event) => {
          event.preventDefault();
          void ask(new FormData(event.currentTarget)).catch((error: Error) => setTrouble(error.message));
        }}
      >
        <label>
          Tool, prompt or resource
          <input name="name" required list="names" autocomplete="off" spellcheck={false} />
          <datalist id="names">
            {entries.slice(0, MOST_NAMES).map(({ name }) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </label>
        <label>
          As the principal
          <input name="as" placeholder="anonymous" list="principals" autocomplete="off" spellcheck={false} />
          <datalist id="principals">
            {[...new Set(principals)].slice(0, MOST_NAMES).map((id) => (
              <option key={id} value={id} />
            ))}
          </datalist>
        </label>
        <label>
          In the groups
          <input name="groups" placeholder="none" autocomplete="off" spellcheck={false} />
        </label>
        <label>
          Arguments, as JSON
          <input name="args" placeholder="{}" autocomplete="off" spellcheck={false} />
        </label>
        <button type="submit" class="main">
          Explain
        </button>
      </form>
      <div aria-live="polite">
        {trouble !== undefined && <p class="error">{trouble}</p>}
        {answer !== undefined && <Answer answer={answer} />}
      </div>
    </Panel>
  );
}

function Answer({ answer }: { readonly answer: Explained }) {
  const { unknown, effect, rule, server, target, badArguments, listing } = answer;
  if (unknown !== undefined) return <p class="error">{unknown}</p>;
  return (
    <>
      <dl class="facts">
        <Fact label="Decision">{effect === undefined ? "–" : <StateBadge state={effect} />}</Fact>
        <Fact label="Rule">{rule ?? "–"}</Fact>
        <Fact label="Server">{server || "–"}</Fact>
        <Fact label="Its own name">{target || "–"}</Fact>
        {listing !== undefined && (
          <Fact label="Listed">{listing.isListed ? "yes" : `no (${listing.exposure})`}</Fact>
        )}
      </dl>
      {badArguments !== undefined && <p class="error">{badArguments}</p>}
      {answer.message !== undefined && <p>{answer.message}</p>}
      {(answer.rules?.length ?? 0) > 0 && (
        <Table label="Rules" columns={["Rule", "Effect", "Matches", "Why"]}>
          {answer.rules?.map(({ rule: name, effect: its, matches, decides, why }, at) => (
            <tr key={`${name}${at}`} class={decides ? "chosen" : ""}>
              <th scope="row">{name}</th>
              <td>
                <StateBadge state={its} />
              </td>
              <td>{decides ? "yes, and decides" : matches ? "yes" : "no"}</td>
              <td class="long">{why}</td>
            </tr>
          ))}
        </Table>
      )}
      <details>
        <summary>The whole answer</summary>
        <JsonBlock value={answer} label="The whole answer" />
      </details>
    </>
  );
}
