/** Probes a server behind a login with the stored tokens; if they do not suffice, shows each step of discovery. */
import { join } from "node:path";
import type { ProbedServer } from "../../cli/feature.js";
import type { ProbeResult } from "../../cli/probe.js";
import { GatewayError } from "../../core/errors.js";
import { SILENT } from "../../core/logger.js";
import { openSignIns } from "./open-sign-ins.js";
import { pinNote, stepsNote } from "./probe-notes.js";

/** Without credentials if the config needs no sign-in there. Never rejects. */
export async function probeWithSignIn(
  { server, config, store, connect }: ProbedServer,
  stateFolder: string,
): Promise<ProbeResult> {
  if (server.auth === undefined || server.transport.kind !== "http") return connect(undefined);
  const { publicUrl, port } = config.listen.http;
  const opened = await openSignIns({
    config: () => config,
    store,
    folder: join(stateFolder, "credentials"),
    baseUrl: () => publicUrl ?? `http://127.0.0.1:${port}`,
    logger: SILENT,
    counter: { signedIn: () => {}, quirkUsed: () => {}, tokenRefreshed: () => {} },
  }).catch((error: unknown) => ({ error }));
  if ("error" in opened) return { error: opened.error, stderr: [], nonProtocolOutput: [] };
  try {
    const found = await connect(opened.credentials);
    const pin = await opened.signIns.pinned(server.name);
    const { error } = found;
    const needsSignIn = error instanceof GatewayError && error.code === "sign_in_required";
    const steps = needsSignIn ? await opened.signIns.steps(server.name) : undefined;
    const notes = [
      ...(steps === undefined ? [] : [stepsNote(steps)]),
      ...(pin === undefined ? [] : [pinNote(pin)]),
    ];
    return notes.length === 0 ? found : { ...found, notes };
  } finally {
    opened.close();
  }
}
