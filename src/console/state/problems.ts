/** The problems that the gateway reports, and which view of the console shows more of each. */
import type { ProblemRow } from "../../features/admin/rows.js";
import type { GatewayState } from "./gateway-state.js";

/** A row of the page of problems. */
export type Problem = Omit<ProblemRow, "kind"> & { readonly kind: ProblemRow["kind"] | "unreachable" };

/** The rows, worst first. A gateway that does not answer cannot report that itself. */
export function problemsIn({ problems, trouble }: GatewayState): readonly Problem[] {
  if (trouble === undefined) return problems;
  const text = `The gateway does not answer: the console cannot read its pages: ${trouble}`;
  return [{ id: "unreachable", kind: "unreachable", severity: "error", text, actions: [] }, ...problems];
}

/** Those that a person must do something about. */
export const pressing = (problems: readonly Problem[]): readonly Problem[] =>
  problems.filter(({ severity }) => severity !== "note");

/** Whether the gateway reports that calls to this server fail. */
export const failsOften = ({ problems }: GatewayState, name: string): boolean =>
  problems.some(({ server, kind }) => server === name && (kind === "error_rate" || kind === "timeouts"));

/** The view that shows more of it, and the entry there. */
export function placeOf({ kind, server, rule }: Problem): readonly [view: string, item?: string] {
  if (kind === "questions") return ["inbox"];
  if (server !== undefined) return ["servers", server];
  if (rule !== undefined) return ["policy", rule];
  return [kind === "reload" || kind === "ineffective" ? "config" : "overview"];
}

/** The sentence in two: what it is, and why. */
export function partsOf({ text }: Problem): readonly [title: string, detail: string] {
  const at = text.indexOf(": ");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 2)];
}
