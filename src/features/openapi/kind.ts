/** The channels of APIs, for servers that have the type `openapi`. */
import type { FeatureTransport } from "../../config/config.js";
import type { ChannelKind } from "../../upstream/supervision/channel-kind.js";
import { type OpenApiTransport, TYPE } from "./transport.js";

/** Imports what it needs with the first server. */
export const apiKind: ChannelKind = {
  type: TYPE,
  normalizesArguments: true,
  misfits: "its answers do not keep the OpenAPI document, so they went out without structured content",
  channelsTo(server, log, options) {
    const channels = import("./channels.js").then(({ apiChannels }) => apiChannels(server, log, options));
    // A failure is that of each channel.
    channels.catch(() => {});
    return { open: async (...given) => (await channels)(...given), close: async () => {} };
  },
  urlOf(transport) {
    const { baseUrl, document } = asApi(transport);
    return baseUrl ?? ("url" in document ? document.url : undefined);
  },
  /** An API is not called at the start; only its document can fail. */
  faultOf(transport, message) {
    const { document } = asApi(transport);
    const isOfDocument = / has (?:a|no) document\b/.test(message);
    if ("url" in document && !isOfDocument) return document;
    return { sentence: `its OpenAPI document cannot be used: it ${withoutName(message)}` };
  },
};

const asApi = (transport: FeatureTransport): OpenApiTransport => transport as OpenApiTransport;

/** Without the server's name, which is printed before it. */
const withoutName = (message: string): string => message.replace(/^.*? (?=has )/, "");
