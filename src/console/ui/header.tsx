/** The header: the gateway's name and state, and the theme. */
import { countOf, spanOf } from "../format.js";
import { access, dropToken } from "../state/api.js";
import { gateway, refresh } from "../state/gateway.js";
import { pressing, problemsIn } from "../state/problems.js";
import { endSession } from "../state/sign-in.js";
import { useStore } from "../state/store.js";
import { nextTheme, theme } from "../state/theme.js";
import { Badge, type Tone } from "./badge.js";
import { Icon } from "./icon.js";
import { Logo } from "./logo.js";
import { promptToken } from "./prompt-token.js";

/** Shown above each view. */
export function Header() {
  const state = useStore(gateway);
  const { hasToken, isLocked, me } = useStore(access);
  const { chosen } = useStore(theme);
  const { status } = state;
  const [tone, word] = isLocked ? (["warn", "locked"] as const) : healthOf(state);
  const about = [
    status?.url,
    status && `version ${status.version}`,
    status && `up ${spanOf(status.uptimeSeconds)}`,
  ].filter(Boolean);
  return (
    <header>
      <a class="brand" href="#/overview" aria-label="Cardea, overview">
        <Logo />
        <span>Cardea</span>
      </a>
      <p class="about quiet">{isLocked || about.length === 0 ? " " : about.join(" · ")}</p>
      <p class="health" role="status">
        <Badge tone={tone}>{word}</Badge>
      </p>
      {!isLocked && me.principal !== undefined && (
        <p title={`Role: ${me.role}`}>
          <span class="hidden">Signed in as </span>
          {me.principal}
          {me.role === "viewer" && <span class="quiet"> (may read)</span>}
        </p>
      )}
      {!isLocked && me.principal !== undefined && me.principal !== "admin-token" && (
        <button type="button" class="plain" onClick={() => void signOut()}>
          Sign out
        </button>
      )}
      {!isLocked && (me.principal === undefined || me.principal === "admin-token") && (
        <button
          type="button"
          class="plain"
          title={hasToken ? "Forget the admin token of this tab" : "Enter the admin token, for actions"}
          onClick={() => (hasToken ? dropToken() : void promptToken())}
        >
          <Icon name="key" />
          <span class="wide">{hasToken ? "Lock actions" : "Unlock actions"}</span>
        </button>
      )}
      <button type="button" class="plain" title="Change the theme" onClick={nextTheme}>
        <Icon name={chosen === "light" ? "sun" : chosen === "dark" ? "moon" : "system"} />
        <span class="hidden">Theme: {chosen}</span>
      </button>
    </header>
  );
}

/** The next reading of the pages locks the page. */
async function signOut(): Promise<void> {
  await endSession();
  dropToken();
  await refresh();
}

function healthOf(state: typeof gateway.state): readonly [Tone, string] {
  const { status, trouble } = state;
  if (trouble !== undefined) return ["bad", "unreachable"];
  if (status === undefined) return ["quiet", "reading …"];
  if (!status.ready) return ["bad", "not ready"];
  const problems = pressing(problemsIn(state));
  if (problems.length === 0) return ["good", "ready"];
  return [
    problems.some(({ severity }) => severity === "error") ? "bad" : "warn",
    countOf(problems.length, "problem"),
  ];
}
