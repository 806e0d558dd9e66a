/** The frame of every view: header, navigation, dialogs, and the token prompt. */
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { access } from "./state/api.js";
import { isWaiting } from "./state/feature-rows.js";
import { gateway } from "./state/gateway.js";
import { type GatewayState, hasPage } from "./state/gateway-state.js";
import { pressing, problemsIn } from "./state/problems.js";
import { hrefOf, route } from "./state/route.js";
import { useStore } from "./state/store.js";
import { DialogHost } from "./ui/dialog-host.js";
import { Header } from "./ui/header.js";
import { Icon, type IconName } from "./ui/icon.js";
import { LinkTrouble } from "./ui/link-trouble.js";
import { TokenPrompt } from "./ui/token-prompt.js";
import { CallsView } from "./views/calls.js";
import { ConfigView } from "./views/config.js";
import { InboxView } from "./views/inbox.js";
import { Overview } from "./views/overview.js";
import { PlotsView } from "./views/plots.js";
import { PolicyView } from "./views/policy.js";
import { ServersView } from "./views/servers.js";
import { SessionsView } from "./views/sessions.js";
import { ToolsView } from "./views/tools.js";

interface View {
  readonly name: string;
  readonly label: string;
  readonly icon: IconName;
  /** The API page that it needs; of several, one. */
  readonly page: string | readonly string[];
  readonly Component: ComponentType<{ readonly item: string | undefined }>;
}

const VIEWS: readonly View[] = [
  { name: "overview", label: "Overview", icon: "overview", page: "status", Component: Overview },
  { name: "inbox", label: "Inbox", icon: "inbox", page: ["questions", "approvals"], Component: InboxView },
  { name: "servers", label: "Servers", icon: "servers", page: "servers", Component: ServersView },
  { name: "tools", label: "Tools", icon: "tools", page: "lists", Component: ToolsView },
  { name: "calls", label: "Calls", icon: "calls", page: "calls", Component: CallsView },
  { name: "plots", label: "Plots", icon: "plots", page: "history", Component: PlotsView },
  { name: "policy", label: "Policy", icon: "policy", page: "decisions", Component: PolicyView },
  { name: "sessions", label: "Sessions", icon: "sessions", page: "sessions", Component: SessionsView },
  { name: "config", label: "Config", icon: "config", page: "config", Component: ConfigView },
];

/** The whole page. */
export function App() {
  const state = useStore(gateway);
  const { isLocked } = useStore(access);
  const { view, item } = useStore(route);
  const shown = VIEWS.filter(({ page }) => [page].flat().some((each) => hasPage(state, each)));
  const current = shown.find(({ name }) => name === view) ?? shown[0];
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header />
      <LinkTrouble />
      {isLocked ? (
        <TokenPrompt />
      ) : (
        <div class="frame">
          <Navigation views={shown} current={current?.name} state={state} />
          <main id="main" tabIndex={-1}>
            {current === undefined ? (
              <p class="loading" role="status">
                {state.trouble ?? "Reading the gateway …"}
              </p>
            ) : (
              <current.Component item={item} />
            )}
          </main>
        </div>
      )}
      <DialogHost />
    </>
  );
}

interface NavigationProps {
  readonly views: readonly View[];
  readonly current: string | undefined;
  readonly state: GatewayState;
}

function Navigation({ views, current, state }: NavigationProps) {
  const counts: Readonly<Record<string, number>> = {
    overview: pressing(problemsIn(state)).length,
    inbox: state.questions.length + state.approvals.filter(isWaiting).length,
  };
  const bar = useRef<HTMLElement>(null);
  // On a phone the bar scrolls sideways.
  useEffect(() => {
    bar.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  return (
    <nav aria-label="Views" ref={bar}>
      {views.map(({ name, label, icon }) => (
        <a key={name} href={hrefOf(name)} aria-current={name === current ? "page" : undefined}>
          <Icon name={icon} />
          <span>{label}</span>
          {(counts[name] ?? 0) > 0 && (
            <span
              class="count"
              title={name === "overview" ? "Problems" : "Approvals and questions that wait"}
            >
              {counts[name]}
            </span>
          )}
        </a>
      ))}
    </nav>
  );
}
