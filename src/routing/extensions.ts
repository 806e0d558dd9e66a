/** Which methods of extensions may be forwarded, which servers declare one, and how are skills listed and found (SEP-2640)? */

import type { Catalog } from "../catalog/catalog.js";
import type { Call, Handler, Reply } from "../core/call.js";
import { cancelledWhileStarting, unknownMethod, unknownTarget } from "../core/errors.js";
import { METHODS, methodsWhere, SKILLS_EXTENSION } from "../core/methods.js";
import { type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { mergedList } from "./merged-list.js";
import type { Send } from "./router.js";

/**
 * Whether an unknown method may be forwarded. Its name also travels in a header, which loses surrounding
 * white space and allows printable ASCII only: `tools/call ` would arrive as another method.
 */
export const isForwardableMethod = (method: string): boolean =>
  /^[\x21-\x7e]{1,512}$/.test(method) && !MCP_METHODS.has(method.toLowerCase());

/**
 * The methods that MCP defines, in lower case: a case-insensitive server must not receive one of them as a
 * custom method.
 */
const MCP_METHODS: ReadonlySet<string> = new Set(Object.keys(METHODS).map((method) => method.toLowerCase()));

/** Capabilities whose methods the gateway routes itself. */
const ROUTED_CAPABILITIES = new Set([
  "tools",
  "prompts",
  "resources",
  "completions",
  "logging",
  "extensions",
  "experimental",
]);

/** Whether a server with these capabilities declares `method` or the extension that it belongs to. */
export function declaresMethod(capabilities: JsonObject | undefined, method: string): boolean {
  if (capabilities === undefined) return false;
  const names = [
    ...Object.keys(objectAt(capabilities, "extensions") ?? {}),
    ...Object.keys(objectAt(capabilities, "experimental") ?? {}),
    ...Object.keys(capabilities).filter((key) => !ROUTED_CAPABILITIES.has(key)),
  ];
  return names.some((name) => method.startsWith(`${name}/`) || method.startsWith(`${shortName(name)}/`));
}

/** Methods of `io.modelcontextprotocol/skills` begin with `skills/`. */
const shortName = (name: string): string => name.slice(name.lastIndexOf("/") + 1);

interface SkillsOptions {
  readonly catalog: Pick<Catalog, "view" | "prepareLists" | "latest" | "capabilities" | "reachable">;
  /** Sends the request for one server's part of a list. */
  readonly sendEach: Send;
  /** The router of the config in effect. */
  readonly inEffect: Handler | undefined;
}

/** The skill methods. */
interface Skills {
  list(call: Call): Promise<Reply>;
  /**
   * Called before a call goes to the server of its URI.
   * @throws GatewayError where that server does not serve the method, which another server advertised.
   */
  require(call: Call): void;
}

/** The methods about one skill or one of its folders; each carries a `uri`. */
export const SKILL_METHODS = methodsWhere(
  ({ extension, answeredBy }) => extension === SKILLS_EXTENSION && answeredBy === "target",
);

export function skills({ catalog, sendEach, inEffect }: SkillsOptions): Skills {
  const serves = (server: string, { client, method }: Call): boolean => {
    const declared = objectAt(objectAt(catalog.capabilities(server, client), "extensions"), SKILLS_EXTENSION);
    return method === "resources/directory/read" ? declared?.directoryRead === true : declared !== undefined;
  };
  const serversOf = (call: Call): readonly string[] => {
    const servers = catalog.reachable(call.client, call.method).filter((name) => serves(name, call));
    if (servers.length === 0) throw unknownMethod(call.method);
    return servers;
  };

  return {
    async list(call) {
      await catalog.prepareLists(call.client, call.signal);
      if (call.signal.aborted) throw cancelledWhileStarting(call.method, call.signal.reason);
      // Only the router of the new config reaches its servers.
      if (inEffect !== undefined && catalog.latest !== catalog) return inEffect(call);
      const servers = serversOf(call);
      const view = catalog.view(call.client);
      // A skill that may not be read, or whose URI leads to another server, is not listed.
      const show = (server: string, item: JsonObject): JsonObject | undefined =>
        view.find("resources", stringAt(item, "uri") ?? "")?.upstream === server ? item : undefined;
      return mergedList({ call, servers, member: "skills", send: sendEach, show });
    },
    require(call) {
      const servers = serversOf(call);
      if (call.route !== undefined && servers.includes(call.route.upstream)) return;
      throw unknownTarget("resources", stringAt(call.params, "uri") ?? "");
    },
  };
}
