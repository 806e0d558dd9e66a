/** A gateway in front of servers that it has met, for tests whose subject is not its process. */
import { allMet, type Config, noneStarts, serve } from "./cardea.js";
import { hasFeature } from "./features.js";
import { gatewayOf, listening } from "./gateway.js";
import { TAKES_ALL } from "./sample.js";
import { until } from "./until.js";

export interface MetGateway {
  /** Such as `http://127.0.0.1:41234/mcp`. */
  readonly url: string;
  /** Such as `http://127.0.0.1:41235`. */
  readonly admin: string;
  stop(): Promise<unknown>;
}

interface Listen {
  readonly http?: object;
  readonly admin?: object;
}

/**
 * Resolved when all of its servers were met. It listens in the process of the test, and calls that still run at its stop are cut
 * off; where a run takes all, it is the built program.
 */
export async function metGateway(config: Config): Promise<MetGateway> {
  if (TAKES_ALL) return serve(config);
  const { http = {}, admin: adminListener = {} } = (config.listen ?? {}) as Listen;
  const listen = { http: { ...http, port: 0 }, admin: { ...adminListener, port: 0 } };
  const gateway = await gatewayOf({ ...config, listen });
  const stop = (): Promise<void> => gateway.stop({ immediate: true });
  const { url, adminUrl: admin } = await listening(gateway);
  try {
    await until("every server", () => (hasFeature("admin") ? allMet(admin) : noneStarts(url)));
    return { url, admin, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
