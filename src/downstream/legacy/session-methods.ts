/** The requests a session answers by itself, without anybody behind the gateway. */
import { LOG_LEVELS } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import { type JsonObject, stringAt } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import type { Session } from "./session.js";

type SessionMethod = (session: Session, params: JsonObject) => void | Promise<void>;

const METHODS: ReadonlyMap<string, SessionMethod> = new Map<string, SessionMethod>([
  ["ping", () => {}],
  [
    "initialize",
    () => {
      throw new GatewayError("bad_request", "downstream", "this session is initialized already");
    },
  ],
  [
    "logging/setLevel",
    (session, params) => {
      const level = LOG_LEVELS.find((known) => known === params.level);
      if (level === undefined) throw invalid(`"level" must be one of ${LOG_LEVELS.join(", ")}`);
      session.logLevel = level;
    },
  ],
  ["resources/subscribe", (session, params) => session.subscriptions.subscribeResource(uriOf(params))],
  ["resources/unsubscribe", (session, params) => session.subscriptions.unsubscribeResource(uriOf(params))],
]);

/** The method of that name; each has an empty result, and throws a GatewayError to refuse. */
export const sessionMethod = (name: string): SessionMethod | undefined => METHODS.get(name);

function uriOf(params: JsonObject): string {
  const uri = stringAt(params, "uri");
  if (uri === undefined) throw invalid('"uri" must be a string');
  return uri;
}

const invalid = (what: string) =>
  new GatewayError("bad_request", "downstream", what, { rpc: CODE.invalidParams });
