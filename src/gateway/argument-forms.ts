/** How are the arguments of each server's tools normalized, by the config? */
import type { ConfiguredServer } from "../config/config.js";
import type { ArgumentForm, ArgumentForms } from "../routing/normalized-arguments.js";

/** The servers whose arguments are normalized. */
export const argumentForms = (servers: readonly ConfiguredServer[]): ArgumentForms =>
  new Map(
    servers.flatMap((server) => {
      const form = formOf(server);
      return form === undefined ? [] : [[server.name, form] as const];
    }),
  );

function formOf({ transport, parseJsonText, overrides = {} }: ConfiguredServer): ArgumentForm | undefined {
  const isApi = transport.kind === "openapi";
  const byDefault = parseJsonText ?? isApi;
  const byTool = new Map(
    Object.entries(overrides).flatMap(([tool, override]) => {
      const own = override.arguments?.parseJsonText;
      return own === undefined ? [] : [[tool, own] as const];
    }),
  );
  if (!isApi && !byDefault && ![...byTool.values()].includes(true)) return undefined;
  return { replacesNames: isApi, parsesJsonText: (tool) => byTool.get(tool) ?? byDefault };
}
