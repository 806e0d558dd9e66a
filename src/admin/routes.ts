/** Every path of the admin listener, and what it is answered with. */
import { consoleFiles } from "./console-files.js";
import type { Pages } from "./pages.js";

/** Whether the gateway can do its work; `reasons` says why not, and what is degraded although it can. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

export interface RouteSettings {
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  readonly ready: () => Readiness | Promise<Readiness>;
  readonly pages: Pages;
  /** Takes secrets out of what pages show. Default: there are none. */
  readonly redact?: (text: string) => string;
}

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** Besides those that every answer has. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route {
  /** Whether nobody is asked for the token here. */
  readonly open?: true;
  readonly answer: (query: URLSearchParams) => Answer | Promise<Answer>;
}

/** By path. */
export function routesOf(settings: RouteSettings): ReadonlyMap<string, Route> {
  const { metrics, ready, pages, redact = (text) => text } = settings;
  // Servers speak on the pages, also of what they should keep to themselves.
  const withoutSecrets = (_key: string, value: unknown): unknown =>
    typeof value === "string" ? redact(value) : value;
  const routes = new Map<string, Route>();
  // Probes have no token, and a page must be there to ask for one; the files are the same for everybody.
  routes.set("/healthz", { open: true, answer: () => json({ status: "ok" }) });
  routes.set("/readyz", { open: true, answer: async () => readinessAnswer(await ready()) });
  for (const [path, { type, text }] of consoleFiles()) {
    routes.set(path, { open: true, answer: () => ({ status: 200, type, body: text }) });
  }
  routes.set("/metrics", {
    answer: async () => ({ status: 200, type: metrics.contentType, body: await metrics.text() }),
  });
  const names = Object.keys(pages).map((name) => `/api/v1/${name}`);
  routes.set("/api/v1", { answer: () => json({ pages: names }) });
  for (const [name, page] of Object.entries(pages)) {
    routes.set(`/api/v1/${name}`, {
      answer: async (query) => json((await page(query)) ?? null, 200, withoutSecrets),
    });
  }
  return routes;
}

export const json = (
  value: unknown,
  status = 200,
  replacer?: (key: string, value: unknown) => unknown,
): Answer => ({ status, type: "application/json", body: JSON.stringify(value, replacer) });

const readinessAnswer = (readiness: Readiness): Answer => json(readiness, readiness.ready ? 200 : 503);
