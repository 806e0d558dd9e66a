/** What `cardea doctor` says of a server whose package is still being fetched, and which line of its output comes first. */
import type { ServerConfig } from "../config/config.js";
import { fetchingText, isRunnerProgress, packageRunner } from "../config/package-runner.js";
import { indexOfError } from "../core/error-output.js";
import type { Diagnosis } from "./diagnose.js";

type Process = Extract<ServerConfig["transport"], { kind: "stdio" }>;

/** Undefined if the command fetches nothing, has ended, or has written anything but progress. */
export function diagnoseRunner(
  { command, args }: Process,
  message: string,
  output: readonly string[],
): Diagnosis | undefined {
  const runner = packageRunner(command, args);
  const [, within] = /did not answer within (\S+ s)\b/.exec(message) ?? [];
  if (runner === undefined || within === undefined || !output.every(isRunnerProgress)) return undefined;
  return {
    cause: "fetching",
    sentence: `${fetchingText(runner)}, which takes longer than ${within}`,
    advice: `try again when it is there, or raise connectTimeout. If it is cached already, the server does not answer: does it need an argument (often stdio)?`,
  };
}

/** Longer lines are cut. */
const MAX_HEADLINE = 200;

/** The line of an output that says why the process failed: the one of its error, else the last. */
export function headlineOf(stderr: readonly string[]): string {
  const lines = stderr.map((line) => line.trim()).filter((line) => line !== "" && !isRemark(line));
  const error = indexOfError(lines);
  const line = (error === undefined ? lines.at(-1) : lines[error]) ?? stderr.at(-1) ?? "";
  return line.length > MAX_HEADLINE ? `${line.slice(0, MAX_HEADLINE).toWellFormed()}…` : line;
}

/** Where npm keeps its log, and that of Node's version: no reason. */
const isRemark = (line: string): boolean =>
  /A complete log of this run can be found in|^npm notice\b|^Node\.js v\d/.test(line);
