/** Turns the observations of a server into one sentence for people, and advice. */
import { otherPrefixOwner } from "../config/collisions.js";
import {
  type Config,
  type FeatureTransport,
  type ServerConfig,
  signsInEachPerson,
} from "../config/config.js";
import type { MalformedEntry } from "../core/list-entries.js";
import { type ChannelKind, type ChannelKinds, kindOf } from "../upstream/supervision/channel-kind.js";
import { stringAt } from "../wire/json.js";
import { diagnoseAddress } from "./diagnose-address.js";
import { diagnoseRunner, headlineOf } from "./diagnose-runner.js";
import { codesOf, messageOf } from "./error-facts.js";
import { explainOutput } from "./explain-output.js";
import type { ProbeResult } from "./probe.js";
import type { Misfit } from "./running-facts.js";

/** The state of one server; if it does not start, why, and what to do. */
export interface Diagnosis {
  /** A stable word for scripts; `ok` without problems. */
  readonly cause: Cause;
  readonly sentence: string;
  /** Advice, if there is any. */
  readonly advice?: string;
}

type Cause =
  | "ok"
  | "misconfigured"
  | "command_not_found"
  | "folder_not_found"
  | "not_allowed"
  | "package_not_found"
  | "registry_unreachable"
  | "file_not_found"
  | "module_not_found"
  | "broken_install"
  | "network_failed"
  | "needs_variable"
  | "needs_arguments"
  | "docker_not_running"
  | "exits_at_once"
  | "speaks_no_mcp"
  | "no_answer"
  | "fetching"
  | "refused"
  | "host_not_found"
  | "proxy"
  | "nobody_listens"
  | "tls"
  | "credentials"
  | "not_found"
  | "server_error"
  | "bad_document"
  | "unreachable";

/** What is known of a server: what the probe found, and what a running gateway has seen of it. */
export interface Observations extends ProbeResult {
  readonly misfits?: readonly Misfit[];
}

/**
 * @param config of all servers: name conflicts depend on all of them
 * @param channels the ways to reach servers that features add. Default: none
 */
export function diagnose(
  server: ServerConfig,
  probed: Observations,
  config: Pick<Config, "servers" | "naming">,
  channels: ChannelKinds = [],
): Diagnosis {
  const { transport } = server;
  const as = signsInEachPerson(server) ? "ID" : undefined;
  if (probed.connected !== undefined)
    return healthyDiagnosis(
      probed.connected,
      probed,
      foreignNames(server, probed.connected, config),
      misfitsAdvice(probed.misfits ?? [], transport, channels),
    );
  if (transport.kind === "stdio") return diagnoseProcess(transport, probed);
  if (transport.kind === "http") return diagnoseAddress(transport, probed.error, as);
  return diagnoseTranslated(transport, kindOf(channels, transport), probed.error, as);
}

type Connected = NonNullable<ProbeResult["connected"]>;

function healthyDiagnosis(
  connected: Connected,
  { nonProtocolOutput }: Observations,
  foreign: readonly string[],
  misfits: readonly string[],
): Diagnosis {
  const { serverInfo, tools, shownTools: shown = tools, malformed } = connected;
  const self = [stringAt(serverInfo, "name"), stringAt(serverInfo, "version")].filter(Boolean).join(" ");
  const sentence = `all right: ${self === "" ? "" : `${self}, `}${shown === tools ? "" : `${shown} of `}${tools === 1 ? "1 tool" : `${tools} tools`}`;
  const remarks = [
    ...(malformed.length === 0 ? [] : [malformedAdvice(malformed)]),
    ...misfits,
    ...(foreign.length === 0 ? [] : [takenNamesAdvice(foreign)]),
    ...(nonProtocolOutput.length === 0 ? [] : [NON_PROTOCOL_OUTPUT_ADVICE]),
    ...(connected.isRival === true ? [RIVAL_ADVICE] : []),
  ];
  return { cause: "ok", sentence, ...(remarks.length > 0 && { advice: remarks.join("; ") }) };
}

const NON_PROTOCOL_OUTPUT_ADVICE =
  "it also writes lines to stdout that are not JSON-RPC; they belong on stderr, and other hosts may fail on them";

const RIVAL_ADVICE =
  'only one process of it can run: a second one beside it ended at once, or ended the first; set its lease to "shared", so that all hosts use one';

/** Its tools and prompts that begin with the prefix of another server. */
function foreignNames(
  server: ServerConfig,
  { names }: Connected,
  config: Pick<Config, "servers" | "naming">,
): readonly string[] {
  const shown = (own: string): string => server.overrides?.[own]?.name ?? own;
  return [...names.tools.map(shown), ...names.prompts].flatMap((name) => {
    const owner = otherPrefixOwner(server, name, config);
    return owner === undefined ? [] : [`${JSON.stringify(name)} (of ${JSON.stringify(owner)})`];
  });
}

const NAMES_SHOWN = 5;

function takenNamesAdvice(foreign: readonly string[]): string {
  const more = foreign.length - NAMES_SHOWN;
  const shown = `${foreign.slice(0, NAMES_SHOWN).join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
  return `names that begin with the prefix of another server get a hash ending: ${shown}`;
}

const MALFORMED_SHOWN = 5;

function malformedAdvice(malformed: readonly MalformedEntry[]): string {
  const shown = malformed.slice(0, MALFORMED_SHOWN).map(malformedText).join("; ");
  const more = malformed.length - MALFORMED_SHOWN;
  return `it has invalid list entries, which are left out: ${shown}${more > 0 ? `; and ${more} more` : ""}`;
}

const malformedText = ({ list, name, member, reason }: MalformedEntry): string =>
  `${list}${name === undefined ? "" : ` ${JSON.stringify(name)}`}: ${member} ${reason}`;

const MISFITS_SHOWN = 5;

/** At most one sentence; only servers of features have any. */
function misfitsAdvice(
  misfits: readonly Misfit[],
  transport: ServerConfig["transport"],
  channels: ChannelKinds,
): readonly string[] {
  if (misfits.length === 0 || transport.kind === "stdio" || transport.kind === "http") return [];
  const shown = misfits
    .slice(0, MISFITS_SHOWN)
    .map(
      ({ tool, reason, count }) =>
        `${JSON.stringify(tool)} (${count === 1 ? "once" : `${count} times`}): ${reason}`,
    );
  const more = misfits.length - MISFITS_SHOWN;
  const { misfits: what } = kindOf(channels, transport);
  return [`${what}: ${shown.join("; ")}${more > 0 ? `; and ${more} more` : ""}`];
}

type Process = Extract<ServerConfig["transport"], { kind: "stdio" }>;

function diagnoseProcess(transport: Process, { error, stderr, nonProtocolOutput }: ProbeResult): Diagnosis {
  const { command, cwd } = transport;
  const message = messageOf(error);
  const codes = codesOf(error);
  if (/working directory does not exist/.test(message)) {
    return {
      cause: "folder_not_found",
      sentence: `its folder does not exist: ${cwd}`,
      advice: "fix cwd, or create the folder",
    };
  }
  if (codes.includes("ENOENT")) {
    const whole = /^\S+\s+\S/.test(command);
    return {
      cause: "command_not_found",
      sentence: `command not found: ${command}`,
      advice: whole
        ? "put only the program into command, and its arguments into args, one by one"
        : "install it, or write its whole path; the PATH is that of the gateway, not of your shell",
    };
  }
  if (codes.includes("EACCES")) {
    return {
      cause: "not_allowed",
      sentence: `not allowed to run: ${command}`,
      advice: "make the file executable (chmod +x)",
    };
  }
  const fetching = diagnoseRunner(transport, message, [...stderr, ...nonProtocolOutput]);
  if (fetching !== undefined) return fetching;
  const [, code, reason] = /exited with code (\d+): ([^\n]*?)(?:; last output: |$)/.exec(message) ?? [];
  if (reason !== undefined)
    return { cause: "exits_at_once", sentence: `it exits at once with code ${code}: ${reason}` };
  // Some programs print errors to stdout.
  const explained = explainOutput(stderr) ?? explainOutput(nonProtocolOutput);
  if (explained !== undefined) return explained;
  const exited = /exited with code (\S+?)[;,.]?(?:\s|$)|was ended by (SIG\w+)/.exec(message);
  const [wrote] = nonProtocolOutput;
  if (wrote !== undefined) {
    return {
      cause: "speaks_no_mcp",
      sentence: `it does not speak MCP: its stdout is not JSON-RPC but begins with ${JSON.stringify(wrote.slice(0, 60))}`,
      advice: "is it an MCP server, and does it need an argument (often stdio)?",
    };
  }
  if (exited !== null) {
    const how = exited[1] === undefined ? `is ended by ${exited[2]}` : `exits at once with code ${exited[1]}`;
    return {
      cause: "exits_at_once",
      sentence: `it ${how}${stderr.length === 0 ? " without any output" : `: ${headlineOf(stderr)}`}`,
    };
  }
  if (/did not answer within/.test(message)) {
    return {
      cause: "no_answer",
      sentence: `it runs, but does not answer: it does not speak MCP on stdin and stdout, or takes longer than connectTimeout${stderr.length === 0 ? "" : `; its last output: ${headlineOf(stderr)}`}`,
      advice: "does it need an argument (often stdio)? If it only starts slowly, raise connectTimeout",
    };
  }
  return { cause: "refused", sentence: message };
}

/** A server for which a feature answers MCP. */
function diagnoseTranslated(
  transport: FeatureTransport,
  kind: ChannelKind,
  error: unknown,
  as: string | undefined,
): Diagnosis {
  const fault = kind.faultOf(transport, messageOf(error));
  return "url" in fault
    ? diagnoseAddress(fault, error, as)
    : { cause: "bad_document", sentence: fault.sentence };
}
