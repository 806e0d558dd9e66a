/** Refuses tool calls whose arguments their server would refuse, or that are larger than they may be. */
import type { ChecksConfig } from "../../config/config.js";
import type { Call, Route } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import type { Middleware } from "../../core/handler.js";
import { writeJson } from "../../wire/json-text.js";
import { CheckLimitError, describeViolation } from "./check-result.js";
import type { ToolSchemas } from "./tool-schemas.js";

/**
 * Belongs below `configuredArguments`, so that it sees what the server would get, and above `access`: nobody is asked
 * to approve a call that cannot be made.
 *
 * @param checks by the keys of the servers
 */
export function checkedArguments(
  checks: ReadonlyMap<string, ChecksConfig>,
  schemas: Pick<ToolSchemas, "validate">,
): Middleware {
  return (next) =>
    async function checkedArguments(call) {
      const { route } = call;
      const wanted = route && call.method === "tools/call" ? checks.get(route.upstream) : undefined;
      if (route === undefined || wanted === undefined) return next(call);
      const args = argumentsOf(call);
      const { maxArgumentBytes: most } = wanted;
      if (most !== undefined && Buffer.byteLength(writeJson(args)) > most) {
        throw argumentsError("too_large", route, `may have at most ${most} bytes`);
      }
      if (wanted.arguments) await validate(route, args);
      return next(call);
    };

  async function validate(route: Route, args: unknown): Promise<void> {
    const found = await schemas.validate(route, "inputSchema", args).catch((cause: unknown) => {
      if (cause instanceof CheckLimitError)
        throw argumentsError("too_large", route, "are too much to be checked", cause);
      throw cause;
    });
    if (found !== undefined) {
      throw argumentsError("bad_request", route, `are not what it asks for: ${describeViolation(found)}`);
    }
  }
}

/** Left out they are none; a client may not send them as anything but an object, and hears so. */
const argumentsOf = ({ params }: Call): unknown =>
  Object.hasOwn(params, "arguments") ? params.arguments : {};

const argumentsError = (
  code: "bad_request" | "too_large",
  { exposed, upstream: server }: Route,
  why: string,
  cause?: unknown,
): GatewayError =>
  new GatewayError(code, "downstream", `the arguments of "${exposed}" ${why}`, { server, cause });
