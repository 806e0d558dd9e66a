/** What every test host can do, whichever library or revision it is made of. */
import type { Introduction, Json, List, Outcome } from "../host/host.mjs";
import { until } from "../until.js";

export { type Json, LISTS, type List, type Outcome } from "../host/host.mjs";

export interface Host {
  introduction(): Introduction;
  /** All pages. Empty where the server does not offer the list. */
  list(list: List): Promise<readonly Json[]>;
  /** `tools/call`, `prompts/get`, `resources/read` or `completion/complete`. */
  request(method: string, params: Json): Promise<Outcome>;
  close(): Promise<void>;
}

/** Where a server is: at a URL, or at the other end of a new process. */
export type Place =
  | { readonly url: string }
  | { readonly command: string; readonly args: readonly string[]; readonly env?: Record<string, string> };

/** A way to be a host. */
export interface HostKind {
  readonly name: string;
  readonly era: "legacy" | "modern";
  connect(place: Place): Promise<Host>;
}

/** The outcome of a promise that a library rejects when the peer answers with an error. */
export async function outcomeOf(answer: Promise<unknown>): Promise<Outcome> {
  try {
    return { result: (await answer) as Json };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return { error: { code, message: error instanceof Error ? error.message : String(error) } };
  }
}

/**
 * Waits until the host lists a tool whose name ends so, and so the server behind it has been met. Where there is
 * no admin listener to ask, this is the way to wait for a server that is starting.
 */
export async function whenListed(host: Host, ...endings: readonly string[]): Promise<void> {
  await until(`${endings.join(", ")} in the list of tools`, async () => {
    const names = (await host.list("tools")).map(({ name }) => String(name));
    return endings.every((ending) => names.some((name) => name.endsWith(ending)));
  });
}
