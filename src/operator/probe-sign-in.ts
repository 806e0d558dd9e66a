/** Probes a server behind a login with the stored tokens; if they do not suffice, shows each step of discovery. */
import { join } from "node:path";
import type { ProbeResult } from "../cli/probe.js";
import type { Config, ServerConfig } from "../config/config.js";
import type { SharedStore } from "../core/cluster.js";
import type { CredentialStore } from "../core/credentials.js";
import { GatewayError } from "../core/errors.js";
import { SILENT } from "../core/logger.js";
import { stateFolder } from "../state/state-folder.js";

type Environment = Readonly<Record<string, string | undefined>>;

interface SignInProbe {
  readonly server: ServerConfig;
  readonly config: Config;
  readonly env: Environment;
  /** See `OpenSignInsOptions`. */
  readonly store: SharedStore | undefined;
}

/**
 * Probes `server` with `probe`, which receives the credentials; none if the config needs no sign-in there. Never
 * rejects, like `probe`.
 */
export async function probeWithSignIn(
  { server, config, env, store }: SignInProbe,
  probe: (credentials: CredentialStore | undefined) => Promise<ProbeResult>,
): Promise<ProbeResult> {
  if (server.auth === undefined || server.transport.kind !== "http") return probe(undefined);
  const { openSignIns } = await import("../sign-in/open-sign-ins.js");
  const { publicUrl, port } = config.listen.http;
  const opened = await openSignIns({
    config: () => config,
    store,
    folder: join(stateFolder(env), "credentials"),
    baseUrl: () => publicUrl ?? `http://127.0.0.1:${port}`,
    logger: SILENT,
    counter: { signedIn: () => {}, quirkUsed: () => {}, tokenRefreshed: () => {} },
  }).catch((error: unknown) => ({ error }));
  if ("error" in opened) return { error: opened.error, stderr: [], nonProtocolOutput: [] };
  try {
    const found = await probe(opened.credentials);
    const pin = await opened.signIns.pinned(server.name);
    const probed = { ...found, ...(pin !== undefined && { issuerPin: pin }) };
    const { error } = probed;
    if (!(error instanceof GatewayError) || error.code !== "sign_in_required") return probed;
    return { ...probed, signInSteps: await opened.signIns.steps(server.name) };
  } finally {
    opened.close();
  }
}
