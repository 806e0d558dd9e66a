/** Which upstream does a server of the config get: one for all hosts, or one that works in the folder of each (`cwd: "roots"`)? */
import type { ServerConfig } from "../../config/config.js";
import { SILENT } from "../../core/logger.js";
import type { UpstreamOptions } from "../supervision/options.js";
import { createUpstream, type StartableUpstream } from "../upstream.js";
import { RootedUpstream } from "./rooted-upstream.js";

/** The upstream of `server`, which opens no connection before `start`. */
export function createServerUpstream(server: ServerConfig, options: UpstreamOptions): StartableUpstream {
  const base = createUpstream(server, options);
  const { transport } = server;
  if (transport.kind !== "stdio" || transport.inRoots === undefined) return base;
  const { inRoots, ...process } = transport;
  return new RootedUpstream({
    server,
    base,
    log: options.log ?? SILENT,
    rules: { server: server.name, fallback: server.roots ?? [], under: inRoots.under },
    inFolder: (folder) =>
      createUpstream(
        { ...server, transport: { ...process, cwd: folder } },
        // The era and the facts are those that the process of the lists had.
        {
          ...options,
          memory: base.memory() ?? options.memory,
          lifecycle: { ...options.lifecycle, after: Promise.resolve() },
        },
      ),
  });
}
