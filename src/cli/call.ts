/** `cardea call`: calls one tool by the name a host would use, and prints its result. */
import type { Reply } from "../core/call.js";
import { ERRORS } from "../core/errors.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { type CommandContext, type Log, write } from "./command-context.js";
import { EXIT, UsageError } from "./exit.js";
import {
  type AsFlags,
  type ConfigFlags,
  type GatewayFlags,
  gatewayOptions,
  isHost,
  type JsonFlag,
  principalFromFlags,
  wantsJson,
  type YesFlag,
} from "./flags.js";
import { parseArguments, progressTo, warnMissing, withGateway } from "./with-gateway.js";

/** `cardea call`: calls one tool and prints its result. Returns the exit code. */
export async function call(
  name: string,
  words: readonly string[],
  flags: ConfigFlags & JsonFlag & GatewayFlags & YesFlag & AsFlags,
  shell: CommandContext,
): Promise<number> {
  const args = parseArguments(words);
  const json = wantsJson(flags, shell.env);
  const principal = principalFromFlags(flags, shell.env);
  const as = isHost(principal) ? undefined : principal;
  return withGateway(
    { flags: ownGatewayFlags(flags, as, shell), shell, calls: true },
    async (gateway, log) => {
      const reply = await gateway.call(name, args, progressTo(log), as);
      const code = await (json ? printJson(reply, shell) : printText(reply, shell, log));
      // Waits for all starting servers, to name the missing ones.
      if (reply.kind === "error" && MAY_BE_MISSING.has(reply.error.code))
        warnMissing(log, await gateway.missing());
      return code;
    },
  );
}

/**
 * A call of another principal uses its sign-ins at servers. So it is made by a gateway of the command itself, which can read them
 * only where this user can, and never by an admin listener. @throws UsageError
 */
function ownGatewayFlags<T extends GatewayFlags>(
  flags: T,
  as: PrincipalFlags | undefined,
  { env }: CommandContext,
): T {
  if (as === undefined) return flags;
  if (gatewayOptions({ ...flags, fresh: false }, { ...env, CARDEA_FRESH: "0" }).url !== undefined)
    throw new UsageError("--as starts the servers itself, and cannot go with --url");
  return { ...flags, fresh: true };
}

type PrincipalFlags = ReturnType<typeof principalFromFlags>;

/** Errors of a tool whose server may be missing. */
const MAY_BE_MISSING: ReadonlySet<unknown> = new Set([
  ERRORS.unknown_target.rpc,
  ERRORS.upstream_unavailable.rpc,
]);

async function printJson(reply: Reply, shell: CommandContext): Promise<number> {
  const shown = reply.kind === "result" ? reply.result.object : { [reply.kind]: bodyOf(reply) };
  await write(shell.stdout, `${writeJson(shown, 2)}\n`);
  return reply.kind === "result" && reply.result.object.isError !== true ? EXIT.done : EXIT.failed;
}

const bodyOf = (reply: Exclude<Reply, { kind: "result" }>): JsonObject =>
  reply.kind === "error" ? { ...reply.error } : reply.requests;

async function printText(reply: Reply, shell: CommandContext, log: Log): Promise<number> {
  if (reply.kind === "error") {
    log.error({ code: reply.error.code }, reply.error.message);
    return EXIT.failed;
  }
  if (reply.kind === "input_required") {
    log.error({}, "the server asks a question, and there is no person to answer it");
    return EXIT.failed;
  }
  const result = reply.result.object;
  const content: readonly unknown[] = Array.isArray(result.content) ? result.content : [];
  const lines = content.map((block) => (isObject(block) ? contentText(block) : ""));
  const structured = objectAt(result, "structuredContent");
  if (content.length === 0 && structured !== undefined) lines.push(writeJson(structured, 2));
  await write(shell.stdout, lines.map((line) => `${line}\n`).join(""));
  return result.isError === true ? EXIT.failed : EXIT.done;
}

/** Text unchanged; for other content its type. */
function contentText(block: JsonObject): string {
  const type = stringAt(block, "type") ?? "something";
  if (type === "text") return stringAt(block, "text") ?? "";
  const resource = objectAt(block, "resource");
  const text = stringAt(resource, "text");
  if (text !== undefined) return text;
  const about = [
    type,
    stringAt(block, "uri") ?? stringAt(resource, "uri"),
    stringAt(block, "mimeType") ?? stringAt(resource, "mimeType"),
    sizeOf(stringAt(block, "data") ?? stringAt(resource, "blob")),
  ];
  return `[${about.filter((part) => part !== undefined).join(", ")}]`;
}

const sizeOf = (base64: string | undefined): string | undefined =>
  base64 === undefined ? undefined : `${Buffer.byteLength(base64, "base64")} bytes`;
