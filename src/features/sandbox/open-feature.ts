/** The sandboxes of one gateway's servers. */
import type { OpenFeature } from "../../core/feature.js";
import { SERVER_MEMBERS } from "./admin.js";
import type { SandboxedStarts } from "./start-layer.js";

/** `useFiles` receives the files of each config. */
export const openFeature = (
  starts: SandboxedStarts,
  useFiles: (files: readonly string[]) => void,
): OpenFeature => ({
  name: "sandbox",
  startLayer: starts,
  callLayers(_, { files = [] }) {
    useFiles(files);
    return {};
  },
  serverMembers: {
    ...SERVER_MEMBERS,
    read: async () => (server) => ({ fenced: starts.fencingOf(server)?.isFenced ?? null }),
  },
  problems: () =>
    starts.unfenced().map(([server, obstacle]) => ({
      text: `${server} runs without its sandbox: ${obstacle}`,
      blocks: false,
    })),
  close: async () => {},
});
