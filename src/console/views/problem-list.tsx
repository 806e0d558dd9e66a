/** Problems as compact rows: how bad, what, how often, since when, and a button that fixes it. */
import { ageOf } from "../format.js";
import { gateway } from "../state/gateway.js";
import { hasAction } from "../state/gateway-state.js";
import type { Problem } from "../state/problems.js";
import { hrefOf } from "../state/route.js";
import { ActionButton } from "../ui/act.js";
import { Icon } from "../ui/icon.js";
import { SignInButton } from "./sign-ins.js";

/** Worst first. */
export function ProblemList({ problems }: { readonly problems: readonly Problem[] }) {
  return (
    <ul class="problems card" aria-label="Problems">
      {problems.map((problem) => (
        <ProblemLine key={problem.title + problem.detail} problem={problem} />
      ))}
    </ul>
  );
}

const SEVERITIES = { bad: "Error", warn: "Warning", info: "Note" } as const;

function ProblemLine({ problem }: { readonly problem: Problem }) {
  const { level, title, detail, view, item, since, count } = problem;
  return (
    <li class={`problem ${level}`}>
      <Icon name={level === "info" ? "policy" : "alert"} />
      <a href={hrefOf(view, item)} title={detail}>
        <span class="hidden">{SEVERITIES[level]}: </span>
        <strong>{title}</strong> <span class="detail">{detail}</span>
      </a>
      <span class="facts-of-problem">
        {count !== undefined && <span>{count}</span>}
        {since !== undefined && <span title={new Date(since).toISOString()}>{ageOf(since)}</span>}
      </span>
      <span class="remedy">
        <RemedyButton problem={problem} />
      </span>
    </li>
  );
}

/** Nothing where the gateway has no such action. */
function RemedyButton({ problem: { item = "", remedy, principal } }: { readonly problem: Problem }) {
  if (remedy === "sign-in" && hasAction(gateway.state, "logins/*"))
    return <SignInButton server={item} as={principal ?? "anonymous"} />;
  if ((remedy === "retry" || remedy === "restart") && hasAction(gateway.state, "servers/*/restart")) {
    return (
      <ActionButton
        label={remedy === "retry" ? "Retry" : "Restart"}
        {...(remedy === "restart" && { question: `Restarts ${item}. Calls that it is serving now fail.` })}
        action={`servers/${encodeURIComponent(item)}/restart`}
      />
    );
  }
  return null;
}
