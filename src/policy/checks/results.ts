/** Is a tool's result what its output schema demands, and within the size limit? */
import type { ChecksConfig } from "../../config/config.js";
import type { Call, Middleware } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import type { Payload } from "../../wire/payload.js";
import type { ToolSchemas } from "./tool-schemas.js";

/** The checks of one server's results. */
export interface ResultChecks {
  readonly server: string;
  readonly checks: ChecksConfig;
  readonly schemas: Pick<ToolSchemas, "validate">;
}

/**
 * Withholds results that do not pass (`denied`). Stands outermost in the server's stack, to check what the server
 * itself has sent.
 */
export function checkedResults({ server, checks, schemas }: ResultChecks): Middleware {
  const { maxResultBytes: most, results } = checks;
  return (next) =>
    async function checkedResults(call) {
      const reply = await next(call);
      if (reply.kind !== "result") return reply;
      const withheld = (why: string): GatewayError =>
        new GatewayError("denied", "upstream", `${executedNote(call)} ${why}, and is withheld`, { server });
      if (most !== undefined && sizeOf(reply.result) > most) throw withheld(`is larger than ${most} bytes`);
      const { route } = call;
      if (!results || route?.item?.outputSchema === undefined) return reply;
      const output = toolResultOf(call, reply.result.object);
      if (output === undefined || output.isError === true) return reply;
      if (!Object.hasOwn(output, "structuredContent"))
        throw withheld(mismatchText("it has no structuredContent"));
      const mismatch = await schemas.validate(route, "outputSchema", output.structuredContent);
      if (mismatch?.outcome === "too_large") throw withheld("is too much to be checked");
      if (mismatch !== undefined) throw withheld(mismatchText(mismatch.reason));
      return reply;
    };
}

const mismatchText = (reason: string): string => `is not what its output schema promises (${reason})`;

/** The tool's own result, where this one contains it; undefined for a task that has only begun. */
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

/** Says that the tool was carried out, so that the call is not simply made again. */
const executedNote = ({ method, route, params }: Call): string =>
  method === "tools/call"
    ? `"${route?.exposed ?? String(params.name)}" was carried out, but its result`
    : `the result of ${method}`;
