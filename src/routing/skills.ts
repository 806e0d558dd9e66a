/** How skills are listed across servers and each is found by its URI (SEP-2640). */
import type { Catalog } from "../catalog/catalog.js";
import type { Call, Reply } from "../core/call.js";
import { unknownMethod, unknownTarget } from "../core/errors.js";
import { type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { mergedList } from "./merged-list.js";
import type { Send } from "./send.js";

export interface SkillsOptions {
  readonly catalog: Pick<Catalog, "view" | "prepare" | "capabilities" | "reachable">;
  /** Sends the request for one server's part of a list. */
  readonly sendEach: Send;
}

/** The skill methods. */
export interface Skills {
  list(call: Call): Promise<Reply>;
  /**
   * Called before a call goes to the server of its URI.
   * @throws GatewayError where that server does not serve the method, which another server advertised.
   */
  require(call: Call): void;
}

/** The methods about one skill or one of its folders; each carries a `uri`. */
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

const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";
