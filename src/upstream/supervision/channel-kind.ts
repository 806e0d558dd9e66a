/** How are servers reached that have a `type` of a feature? By the channels of its kind. */
import type { FeatureTransport, ServerConfig } from "../../config/config.js";
import type { Logger } from "../../core/logger.js";
import type { StartLayer } from "../../core/process-start.js";
import type { AnswerMisfit } from "../../core/upstream.js";
import type { ProcessGroups } from "../transport/process-group.js";
import type { OpenChannel } from "./connect.js";

/** Opens channels to one server. */
export interface ChannelFactory {
  readonly open: OpenChannel;
  /** Closes the connection pool that the channels shared; each channel is closed by its connection. */
  close(): Promise<void>;
}

/** What the channels of a server report, and where. */
export interface ChannelOptions {
  readonly onOutput?: ((line: string) => void) | undefined;
  /** Called for each message that matches no request, such as a late response. */
  readonly onUnmatchedMessage?: (() => void) | undefined;
  /** Called with each success that does not fit the output schema of its tool. */
  readonly onAnswerMisfit?: ((misfit: AnswerMisfit) => void) | undefined;
  /** Change the starts of processes. */
  readonly startLayers?: readonly StartLayer[] | undefined;
  /** Starts and records processes. */
  readonly processes?: ProcessGroups | undefined;
  /** Removes secrets from the last output of a process and the words of an HTTP server, before they are cut to length. */
  readonly redact?: ((text: string) => string) | undefined;
}

/** The channels of one `type`, for which the feature answers MCP. */
export interface ChannelKind {
  /** The word of `type`, and the `kind` of the transport. */
  readonly type: string;
  /**
   * Whether arguments come from names that the server's own document has: calls may use both names, and JSON texts are parsed
   * unless the config says otherwise.
   */
  readonly normalizesArguments: boolean;
  /** What is said of successes that do not fit the output schema, before the list of tools. */
  readonly misfits: string;
  /** Opens nothing yet. */
  channelsTo(server: ServerConfig, log: Logger, options: ChannelOptions): ChannelFactory;
  /** Where requests go, as far as the config says it. */
  urlOf(transport: FeatureTransport): string | undefined;
  /** Why it cannot be connected to: a sentence of its own, or the URL whose failure it is. */
  faultOf(
    transport: FeatureTransport,
    message: string,
  ): { readonly sentence: string } | { readonly url: string };
}

/** Those of all features. */
export type ChannelKinds = readonly ChannelKind[];

export const typesOf = (kinds: ChannelKinds): readonly string[] => kinds.map(({ type }) => type);

/** The kind of `transport`. @throws Error where no feature of this build has it, which a config cannot name */
export function kindOf(kinds: ChannelKinds, { kind }: Pick<FeatureTransport, "kind">): ChannelKind {
  const found = kinds.find(({ type }) => type === kind);
  if (found === undefined) throw new Error(`no feature has channels of the type ${kind}`);
  return found;
}
