/** Polls the gateway's pages every 3 s while the tab is visible. */
import { access, dropToken, getPage, readMe, TokenNeeded } from "./api.js";
import type { GatewayState, Served } from "./gateway-state.js";
import { Store } from "./store.js";

const REFRESH_MS = 3_000;
/** Names in paths of actions: `{name}` and `:name`. */
const NAMES = /\{[^}]+\}|:\w+/g;
const PAGES = [
  "status",
  "servers",
  "problems",
  "catalog",
  "sessions",
  "questions",
  "decisions",
  "logins",
  "approvals",
] as const;

/** The polled gateway. */
export const gateway = new Store<GatewayState>({
  served: undefined,
  status: undefined,
  servers: [],
  problems: [],
  catalog: { tools: [], prompts: [], resources: [], resourceTemplates: [] },
  sessions: [],
  questions: [],
  approvals: [],
  decisions: [],
  logins: [],
  running: [],
  trouble: undefined,
  at: 0,
});

/** Reads all pages now. Never rejects: errors are part of the state. */
export async function refresh(): Promise<void> {
  try {
    const served = gateway.state.served ?? (await readServed());
    const names = [...PAGES.filter((name) => served.pages.has(name)), ...runningOf(served)];
    const answers = await Promise.all(names.map((name) => getPage<unknown>(name)));
    const read = Object.fromEntries(names.map((name, at) => [name.replace("calls/", ""), answers[at]]));
    gateway.set({ ...(read as Partial<GatewayState>), served, trouble: undefined, at: Date.now() });
    if (access.state.isLocked) access.set({ isLocked: false });
  } catch (error) {
    if (error instanceof TokenNeeded) {
      dropToken();
      // The next token may be that of a person with other rights.
      gateway.set({ served: undefined });
      await readMe();
      access.set({ isLocked: true });
    } else {
      const message = error instanceof Error ? error.message : String(error);
      // The gateway that comes back may have another version.
      gateway.set({ trouble: message, served: gateway.state.served });
    }
  }
}

/** Polls the pages; a hidden tab sends nothing. */
export function startPolling(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (document.hidden || access.state.isLocked) return;
    const again = (): void => {
      timer = setTimeout(look, REFRESH_MS);
    };
    refresh().then(again, again);
  };
  document.addEventListener("visibilitychange", look);
  let wasLocked = false;
  access.watch(() => {
    const { isLocked } = access.state;
    if (wasLocked && !isLocked) look();
    wasLocked = isLocked;
  });
  look();
}

const runningOf = ({ pages }: Served): readonly string[] =>
  pages.has("calls/running") ? ["calls/running"] : [];

async function readServed(): Promise<Served> {
  const { pages = [], actions = [] } = await getPage<{ pages?: string[]; actions?: string[] }>("");
  const short = (path: string): string => path.replace("/api/v1/", "");
  const names = new Set(pages.map(short));
  const { role, principal } = await readMe();
  if (names.size === 0 && role === "person")
    throw new Error(
      `${principal} may not read this gateway: listen.admin.access names no group of this person`,
    );
  // The OpenAPI document lists the actions; an older gateway has none. It has all, of which a viewer may use none.
  const described =
    names.has("openapi.json") && (role === undefined || role === "operator")
      ? await getPage<Described>("openapi.json")
      : {};
  const posts = Object.entries(described.paths ?? {}).flatMap(([path, item]) =>
    "post" in item ? [path] : [],
  );
  const gets = Object.entries(described.paths ?? {}).flatMap(([path, item]) => ("get" in item ? [path] : []));
  for (const path of gets) names.add(short(path));
  const unnamed = (path: string): string => short(path).replace(NAMES, "*");
  return { pages: names, actions: new Set([...actions, ...posts].map(unnamed)) };
}

interface Described {
  readonly paths?: Readonly<Record<string, object>>;
}
