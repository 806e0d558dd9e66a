/** Are the arguments of a tool call what the tool's input schema demands, and within the size limit? */
import type { ChecksConfig } from "../../config/config.js";
import type { Call, Middleware, Route } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import { writeJson } from "../../wire/json-text.js";
import type { ToolSchemas } from "./tool-schemas.js";

/**
 * Refuses a call whose arguments the server would refuse (`bad_request`) or that are too large (`too_large`). Stands
 * below `configuredArguments`, to check what the server would get, and above `access`: no person approves a call that
 * cannot be made.
 *
 * @param checks by server name
 */
export function checkedArguments(
  checks: ReadonlyMap<string, ChecksConfig>,
  schemas: Pick<ToolSchemas, "validate">,
): Middleware {
  return (next) =>
    async function checkedArguments(call) {
      const { route } = call;
      const check = route && call.method === "tools/call" ? checks.get(route.upstream) : undefined;
      if (route === undefined || check === undefined) return next(call);
      const args = argumentsOf(call);
      const { maxArgumentBytes: most } = check;
      if (most !== undefined && Buffer.byteLength(writeJson(args)) > most) {
        throw argumentsError("too_large", route, `may have at most ${most} bytes`);
      }
      if (check.arguments) await validate(route, args);
      return next(call);
    };

  async function validate(route: Route, args: unknown): Promise<void> {
    const mismatch = await schemas.validate(route, "inputSchema", args);
    if (mismatch?.outcome === "too_large")
      throw argumentsError("too_large", route, "are too much to be checked");
    if (mismatch !== undefined)
      throw argumentsError("bad_request", route, `are not what it asks for: ${mismatch.reason}`);
  }
}

/** Absent arguments are an empty object; anything but an object is invalid. */
const argumentsOf = ({ params }: Call): unknown =>
  Object.hasOwn(params, "arguments") ? params.arguments : {};

const argumentsError = (
  code: "bad_request" | "too_large",
  { exposed, upstream: server }: Route,
  why: string,
): GatewayError => new GatewayError(code, "downstream", `the arguments of "${exposed}" ${why}`, { server });
