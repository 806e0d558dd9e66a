/** One cell of the matrix: a kind of host, a kind of server, and the stage between them. */
import { expect } from "vitest";
import type { Json } from "../../support/peers/host.js";
import { countOf } from "../../support/scripted/ledger.js";
import type { Scripted, UpstreamKind } from "../../support/scripted/upstreams.js";
import { until } from "../../support/until.js";
import { type Answer, type Calling, type HostKind, openHost, type ScenarioHost } from "../host.js";
import type { Person, Stage } from "../stage.js";

export interface Cell {
  readonly host: HostKind;
  readonly upstream: UpstreamKind;
  readonly server: Scripted;
  readonly stage: Stage;
  /** Names the one call of the cell, in the server's ledger. */
  readonly label: string;
  /** A host that is shared by all cells of its file; a test that disturbs it opens another. */
  readonly guest: ScenarioHost;
  /** Another host of the cell's kind, or of another; closed with the stage. */
  open(kind?: HostKind, person?: Person): Promise<ScenarioHost>;
}

/** The exposed name of a tool. */
export const toolOf = ({ upstream }: Cell, tool: string): string => `${upstream.key}__${tool}`;

/** The call of the cell, by its guest or by `host`. */
export function callIn(cell: Cell, tool: string, answer?: Answer, host = cell.guest): Calling {
  return host.call(toolOf(cell, tool), { label: cell.label }, answer);
}

/** How often something happened in the call of the cell. */
export const times = ({ server, label }: Cell, event: string): number =>
  countOf(server.ledger(), event, label);

export const happens = (cell: Cell, event: string): Promise<boolean> =>
  until(`"${event}" in ${cell.label}`, () => times(cell, event) > 0);

/** The tool was run once, and came to its end as often as `done` says. */
export function expectOneRun(cell: Cell, done: 0 | 1 = 1): void {
  expect({ begun: times(cell, "begun"), done: times(cell, "done") }).toEqual({ begun: 1, done });
}

/** What the tool made of the answers: the only block of a result that is no error. */
export async function toldTo({ outcome }: Calling): Promise<unknown> {
  const response = await outcome;
  const result = response.result as { isError?: boolean; content?: { text?: string }[] } | undefined;
  if (result === undefined || result.isError === true) throw new Error(JSON.stringify(response));
  return JSON.parse(result.content?.[0]?.text ?? "null");
}

/** The word for why the gateway refused, and the JSON-RPC code where it was an error. */
export function refusalIn(response: Json): { readonly word: unknown; readonly code?: unknown } {
  const { result, error } = response as {
    result?: { _meta?: Record<string, { code?: unknown }> };
    error?: { code?: unknown; data?: { cardea?: { code?: unknown } } };
  };
  if (error !== undefined) return { word: error.data?.cardea?.code, code: error.code };
  return { word: result?._meta?.["cardea/refusal"]?.code };
}

export function cellOf(
  stage: Stage,
  host: HostKind,
  upstream: UpstreamKind,
  what: string,
  guest: ScenarioHost,
): Cell {
  return {
    host,
    upstream,
    stage,
    guest,
    server: stage.upstream(upstream),
    label: `${host.key} / ${upstream.key} / ${what}`,
    open: (kind = host, person) => openHost(stage, kind, person === undefined ? {} : { person }),
  };
}
