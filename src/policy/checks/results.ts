/** Withholds results that are not what their tool promises, or larger than they may be. */
import type { ChecksConfig } from "../../config/config.js";
import type { Call, Reply, Route } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { Middleware } from "../../core/handler.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import type { Payload } from "../../wire/payload.js";
import { CheckLimitError, describeViolation } from "./check-result.js";
import type { ToolSchemas } from "./tool-schemas.js";

export interface ResultChecks {
  readonly server: string;
  readonly checks: ChecksConfig;
  readonly schemas: Pick<ToolSchemas, "validate">;
}

/** Belongs around the server: it looks at what the server itself said, before anybody has changed a word of it. */
export function checkedResults({ server, checks, schemas }: ResultChecks): Middleware {
  const { maxResultBytes: most, results } = checks;
  return (next) =>
    async function checkedResults(call) {
      const reply = await next(call);
      if (reply.kind !== "result") return reply;
      const withheld = (why: string, cause?: unknown): GatewayError =>
        new GatewayError("denied", "upstream", `${executedNote(call)} ${why}, and is withheld`, {
          server,
          cause,
        });
      if (most !== undefined && sizeOf(reply.result) > most) throw withheld(`is larger than ${most} bytes`);
      const { route } = call;
      if (!results || route?.item?.outputSchema === undefined) return reply;
      const why = await faultOf(call, route, reply).catch((cause: unknown) => {
        if (cause instanceof CheckLimitError) throw withheld("is too much to be checked", cause);
        throw cause;
      });
      if (why !== undefined) throw withheld(`is not what its output schema promises (${why})`);
      return reply;
    };

  async function faultOf(
    call: Call,
    route: Route,
    { result }: Reply & { kind: "result" },
  ): Promise<string | undefined> {
    const output = toolResultOf(call, result.object);
    if (output === undefined || output.isError === true) return undefined;
    if (!Object.hasOwn(output, "structuredContent")) return "it has no structuredContent";
    const found = await schemas.validate(route, "outputSchema", output.structuredContent);
    return found && describeViolation(found);
  }
}

/** What the tool has made, where this result holds it: a task that has only begun has made nothing. */
function toolResultOf({ method, params }: Call, result: JsonObject): JsonObject | undefined {
  switch (method) {
    case "tools/call": {
      const begun =
        result.resultType === "task" || (Object.hasOwn(params, "task") && objectAt(result, "task"));
      return begun ? undefined : result;
    }
    case "tasks/result":
      return result;
    case "tasks/get":
      return objectAt(result, "result");
    default:
      return undefined;
  }
}

function sizeOf({ text }: Payload): number {
  return typeof text === "string" ? Buffer.byteLength(text) : text.length;
}

/** Whoever reads this must not take it that nothing has happened. */
const executedNote = ({ method, route, params }: Call): string =>
  method === "tools/call"
    ? `"${route?.exposed ?? String(params.name)}" was carried out, but its result`
    : `the result of ${method}`;
