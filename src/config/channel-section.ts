/** A way to reach servers that belongs to a feature: a word of their `type`, keys of their own, and what an entry means. */
import type { z } from "zod";
import type { FileContext } from "./complete-server.js";
import type { FeatureTransport, ServerConfig, TransportConfig } from "./config.js";
import type { UrlKey } from "./server-keys.js";
import type { ServerShape } from "./server-schema.js";

/** One way. */
export interface ChannelSection {
  readonly of: "channel";
  /** The word of `type`, and the `kind` of the transport. */
  readonly type: string;
  /** The keys that only such servers have, with their schemas. */
  readonly keys: Readonly<Record<string, z.ZodType>>;
  /** Those of them that say where a server is. */
  readonly placeKeys: readonly string[];
  readonly reference: ChannelReference;
  /** What is the same for all such servers. */
  readonly fixed: Pick<ServerConfig, "protocol" | "lease">;
  /** The transport that a valid entry means. @throws ServerConfigError */
  complete(entry: ServerShape, context: ChannelContext): TransportConfig;
  /** The same when all files of the config are known, as absolute paths. */
  withConfigFiles(transport: TransportConfig, files: readonly string[]): TransportConfig;
  /** The URLs of a transport, by their keys in an entry. */
  urlsOf(transport: TransportConfig): Readonly<Record<string, string>>;
}

/** What the reference says of such servers, at keys of the gateway. */
interface ChannelReference {
  /** What a server of this type is: `an HTTP API with …`. */
  readonly type: string;
  /** What `url` is; a sentence. */
  readonly url: string;
  /** What such servers are called where `arguments.parseJsonText` is `true` for them. */
  readonly servers: string;
}

/** Where an entry is. */
export interface ChannelContext extends FileContext {
  /** The key under which the entry has a URL; undefined if it has none. */
  readonly urlKey: UrlKey | undefined;
}

/** A way whose parts agree in their types. */
export function channelOf<Keys extends z.ZodRawShape, Transport extends FeatureTransport & TransportConfig>(
  channel: Omit<ChannelSection, "of" | "keys" | "complete" | "withConfigFiles" | "urlsOf"> & {
    readonly keys: Keys;
    readonly complete: (
      entry: ServerShape & z.output<z.ZodObject<Keys>>,
      context: ChannelContext,
    ) => Transport;
    readonly withConfigFiles: (transport: Transport, files: readonly string[]) => Transport;
    readonly urlsOf: (transport: Transport) => Readonly<Record<string, string>>;
  },
): ChannelSection {
  const { keys, complete, withConfigFiles, urlsOf } = channel;
  return {
    ...channel,
    of: "channel",
    keys: keys as unknown as ChannelSection["keys"],
    complete: (entry, context) => complete(entry as Parameters<typeof complete>[0], context),
    withConfigFiles: (transport, files) => withConfigFiles(transport as Transport, files),
    urlsOf: (transport) => urlsOf(transport as Transport),
  };
}

/** The keys of all ways, with their schemas. */
export const keysOfChannels = (channels: readonly ChannelSection[]): Readonly<Record<string, z.ZodType>> =>
  Object.assign({}, ...channels.map(({ keys }) => keys));

/** The way of a server; undefined where the gateway itself reaches it. */
export const channelAt = (
  channels: readonly ChannelSection[],
  { kind }: Pick<FeatureTransport, "kind">,
): ChannelSection | undefined => channels.find(({ type }) => type === kind);
