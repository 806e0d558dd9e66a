/** Why could a connection to a server not be opened, and what do the calls that wait for it get to read? */
import type { ServerConfig } from "../../config/config.js";
import { fetchingText, isRunnerProgress, packageRunner } from "../../config/package-runner.js";
import { GatewayError } from "../../core/errors.js";
import { HandshakeRefused } from "../legacy/session.js";
import { HttpStatusError } from "../transport/channel.js";

/** The server answered `initialize` without opening a session. */
export class NoSessionError extends Error {
  override readonly name = "NoSession";
}

/** Whether the channel was closed while it was used. */
export const hasClosed = (error: unknown): boolean =>
  error instanceof GatewayError && (error.code === "upstream_closed" || hasClosed(error.cause));

/** The status means that this URL does not support the transport (2025-11-25, transports, "Backwards Compatibility"). */
export function isWrongTransport(error: unknown): boolean {
  const cause = error instanceof GatewayError ? error.cause : error;
  if (!(cause instanceof HttpStatusError || cause instanceof HandshakeRefused)) return false;
  return cause.status === 400 || cause.status === 404 || cause.status === 405;
}

/** Whether no server answered, or one that refused the request. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof GatewayError &&
  (error.code === "upstream_unavailable" || error.code === "upstream_rejected");

/** The error of a failed attempt, as calls that wait for the connection get it. */
export function asUnavailable({ name }: ServerConfig, error: unknown): unknown {
  if (error instanceof HandshakeRefused) {
    return unavailable(name, `${name} refused initialize: ${error.error.message}`, error);
  }
  if (!(error instanceof GatewayError)) return error;
  if (error.code === "upstream_closed") return unavailable(name, error.message, error);
  if (error.code !== "upstream_rejected") return error;
  const { message, options } = error;
  return new GatewayError("upstream_unavailable", "upstream", message, { ...options, retryable: false });
}

/** `lines`: the last that its process wrote to stderr. */
export function connectTimedOut(
  { name, transport }: ServerConfig,
  withinMs: number,
  lines: readonly string[],
): GatewayError {
  const words = lines.at(-1) ?? "";
  const said = words === "" ? "" : `; last output: ${words}`;
  const runner = transport.kind === "stdio" ? packageRunner(transport.command, transport.args) : undefined;
  const fetching =
    runner !== undefined && lines.every(isRunnerProgress) ? `: perhaps ${fetchingText(runner)}` : "";
  return unavailable(name, `${name} did not answer within ${withinMs / 1000} s${fetching}${said}`);
}

/** The attempt was aborted. */
export const connectCancelled = (): GatewayError =>
  new GatewayError("cancelled", "gateway", "the attempt to connect was cancelled");

/** The server cannot be reached now. */
export const unavailable = (server: string, sentence: string, cause?: unknown): GatewayError =>
  new GatewayError("upstream_unavailable", "upstream", sentence, { server, cause, retryable: true });
