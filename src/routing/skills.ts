/** Answers what clients ask of skills: listed for all servers together, and each by its URI where it is (SEP-2640). */
import type { Catalog } from "../catalog/catalog.js";
import type { Call, Reply } from "../core/call.js";
import { unknownMethod, unknownTarget } from "../core/refusal.js";
import { type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { mergedList } from "./merged-list.js";
import type { Send } from "./send.js";

export interface SkillsOptions {
  readonly catalog: Pick<Catalog, "view" | "prepare" | "capabilities" | "reachable">;
  /** Asks one of several servers for its part of a list. */
  readonly sendEach: Send;
}

export interface Skills {
  list(call: Call): Promise<Reply>;
  /**
   * To be asked before a call goes to the server of its URI.
   * @throws GatewayError where that server does not serve the method: the promise was another's.
   */
  require(call: Call): void;
}

/** The methods about one skill, or one folder of it; each names it in its `uri`. */
export const SKILL_METHODS: ReadonlySet<string> = new Set(["skills/get", "resources/directory/read"]);

export function skills({ catalog, sendEach }: SkillsOptions): Skills {
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
      await catalog.prepare(call.client);
      const servers = serversOf(call);
      const view = catalog.view(call.client);
      // What may not be read, or would not lead back here, is not shown either.
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

const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";
