/** How are the arguments of each server's tools normalized, by the config? */
import type { ConfiguredServer } from "../config/config.js";
import type { ArgumentForm, ArgumentForms } from "../routing/normalized-arguments.js";
import type { ChannelKinds } from "../upstream/supervision/channel-kind.js";

/** The servers whose arguments are normalized. */
export const argumentForms = (servers: readonly ConfiguredServer[], kinds: ChannelKinds): ArgumentForms =>
  new Map(
    servers.flatMap((server) => {
      const form = formOf(server, kinds);
      return form === undefined ? [] : [[server.name, form] as const];
    }),
  );

function formOf(
  { transport, parseJsonText, overrides = {} }: ConfiguredServer,
  kinds: ChannelKinds,
): ArgumentForm | undefined {
  const replacesNames = kinds.some((kind) => kind.type === transport.kind && kind.normalizesArguments);
  const byDefault = parseJsonText ?? replacesNames;
  const byTool = new Map(
    Object.entries(overrides).flatMap(([tool, override]) => {
      const own = override.arguments?.parseJsonText;
      return own === undefined ? [] : [[tool, own] as const];
    }),
  );
  if (!replacesNames && !byDefault && ![...byTool.values()].includes(true)) return undefined;
  return { replacesNames, parsesJsonText: (tool) => byTool.get(tool) ?? byDefault };
}
