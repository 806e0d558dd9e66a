/** Problems as compact rows: how bad, what, how often, since when, and a button that fixes it. */
import { ageOf, countOf } from "../format.js";
import { gateway } from "../state/gateway.js";
import { hasActionAt } from "../state/gateway-state.js";
import { type Problem, partsOf, placeOf } from "../state/problems.js";
import { hrefOf } from "../state/route.js";
import { ActionButton } from "../ui/act.js";
import { Icon } from "../ui/icon.js";
import { SignInButton } from "./sign-ins.js";

/** Worst first. */
export function ProblemList({ problems }: { readonly problems: readonly Problem[] }) {
  return (
    <ul class="problems card" aria-label="Problems">
      {problems.map((problem) => (
        <ProblemLine key={problem.id} problem={problem} />
      ))}
    </ul>
  );
}

const SEVERITIES = { error: "Error", warning: "Warning", note: "Note" } as const;
const LEVELS = { error: "bad", warning: "warn", note: "info" } as const;
/** What is counted, where that is no call. */
const COUNTED: Readonly<Partial<Record<Problem["kind"], string>>> = {
  unavailable: "failure",
  questions: "question",
  malformed: "entry",
};

function ProblemLine({ problem }: { readonly problem: Problem }) {
  const { kind, severity, since, count } = problem;
  const [title, detail] = partsOf(problem);
  return (
    <li class={`problem ${LEVELS[severity]}`}>
      <Icon name={severity === "note" ? "policy" : "alert"} />
      <a href={hrefOf(...placeOf(problem))} title={detail}>
        <span class="hidden">{SEVERITIES[severity]}: </span>
        <strong>{title}</strong> <span class="detail">{detail}</span>
      </a>
      <span class="facts-of-problem">
        {count !== undefined && (
          <span>{countOf(count, COUNTED[kind] ?? "call").replace("entrys", "entries")}</span>
        )}
        {since !== undefined && <span title={since}>{ageOf(since)}</span>}
      </span>
      <span class="remedy">
        <Remedy problem={problem} />
      </span>
    </li>
  );
}

/** Nothing where the gateway has no such action for this caller. */
function Remedy({
  problem: { actions, server = "", kind: problem, principal },
}: {
  readonly problem: Problem;
}) {
  const action = actions.find(({ path }) => path !== undefined && hasActionAt(gateway.state, path));
  if (action?.path === undefined) return null;
  const { kind, label, path } = action;
  if (kind === "sign_in") return <SignInButton server={server} as={principal ?? "anonymous"} />;
  const question = `Restarts ${server}. Calls that it is serving now fail.`;
  return <ActionButton label={label} action={path} {...(problem !== "unavailable" && { question })} />;
}
