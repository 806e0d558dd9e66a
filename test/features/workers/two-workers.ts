/** `cardea serve --workers 2`: the built program as two processes, hosts of it, and its status pages. */
import { MAIN, writeConfig } from "../../support/cardea.js";
import { type Exchange, Host, type Json, openHost, refusalOf, textOf } from "../../support/host/host.mjs";
import { type Started, start } from "../../support/processes.js";
import { until } from "../../support/until.js";

export interface Served {
  readonly url: string;
  readonly admin: string;
  readonly process: Started;
  page(name: string): Promise<unknown>;
  metrics(): Promise<string>;
}

/** Called with what ends a process or removes a folder. */
export type Ends = (end: () => Promise<unknown>) => void;

export function startTwo(ends: Ends, config: object, port = "0"): Started {
  const { file, remove } = writeConfig(config);
  const flags = ["serve", "--config", file, "--port", port, "--admin-port", "0", "--workers", "2"];
  const started = start(process.execPath, [MAIN, ...flags]);
  ends(remove);
  ends(() => started.end());
  return started;
}

/** Starts two workers, and waits until they and all servers are ready. */
export async function serveByTwo(ends: Ends, config: object): Promise<Served> {
  const process = startTwo(ends, config);
  const [, url = "", admin = ""] = await process.says(/ready: (http:\S+) \(admin: (http:[^)]+)\)/);
  await until("every server", async () => {
    const servers = (await (await fetch(`${admin}/api/v1/servers`)).json()) as { state: string }[];
    return servers.every(({ state }) => state === "ready");
  });
  return {
    url,
    admin,
    process,
    page: async (name) => (await fetch(`${admin}/api/v1/${name}`)).json(),
    metrics: async () => (await fetch(`${admin}/metrics`)).text(),
  };
}

export const FORMS = { elicitation: { form: {} } };
/** A new connection for every request, so that any worker may get it. */
export const legacyHost = (url: string, capabilities: Json = {}): Promise<Host> =>
  openHost(url, "legacy", { capabilities, agent: false });
/** A call of a modern host of its own that can be asked. */
export const callModern = (url: string, params: Json): Promise<Exchange> =>
  new Host(url, "modern", { capabilities: FORMS, agent: false }).exchange("tools/call", params);
export const textIn = ({ message }: Exchange): string | undefined => textOf(message);
export const codeIn = ({ message }: Exchange): string | undefined => refusalOf(message)?.code;
export const roundIn = ({ message }: Exchange) =>
  (message?.result ?? {}) as { readonly inputRequests?: Json; readonly requestState?: string };
/** Says yes to a form with one field. */
export const accepted = { action: "accept", content: { response: "yes" } };

export const workersOf = async (served: Served) =>
  (await served.page("workers")) as { worker: number; pid: number; ready: boolean; restarts: number }[];
export const series = (text: string, name: string): number =>
  text
    .split("\n")
    .filter((line) => line.startsWith(name))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
export const times = <T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => make(at)));
