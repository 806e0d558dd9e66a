/** Probes a server behind a login with the stored tokens; if they do not suffice, shows each step of discovery. */
import { join } from "node:path";
import type { Config, ServerConfig } from "../config/config.js";
import type { SharedStore } from "../core/cluster.js";
import type { CredentialStore } from "../core/credentials.js";
import { GatewayError } from "../core/errors.js";
import { SILENT } from "../core/logger.js";
import type { Step } from "../sign-in/types.js";
import type { ProbeResult } from "./probe.js";
import { stateFolder } from "./state-folder.js";

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
    const probed = await probe(opened.credentials);
    const { error } = probed;
    if (!(error instanceof GatewayError) || error.code !== "sign_in_required") return probed;
    return { ...probed, signInSteps: await stepsAt(server.name, config) };
  } finally {
    opened.close();
  }
}

/** The discovery steps of a sign-in. */
async function stepsAt(name: string, config: Config): Promise<readonly Step[]> {
  const [{ signInServer }, { discoverFor }, { OAuthError }] = await Promise.all([
    import("../sign-in/sign-in-server.js"),
    import("../sign-in/prepare-sign-in.js"),
    import("../sign-in/oauth/client.js"),
  ]);
  const server = signInServer(config, name);
  if (server === undefined) return [];
  try {
    return (await discoverFor(server)).steps;
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return error.steps.length > 0
      ? error.steps
      : [{ what: "discovery", outcome: "failed", reason: error.message }];
  }
}
