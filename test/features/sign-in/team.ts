/** A team's gateway in front of a server behind a login, and the hosts of its members. */
import { createHash } from "node:crypto";
import { PassThrough } from "node:stream";
import { onTestFinished } from "vitest";
import type { OpenFeature } from "../../../src/core/feature.js";
import { type Logger, SILENT } from "../../../src/core/logger.js";
import { credentialsIn } from "../../../src/features/sign-in/open-feature.js";
import { createGateway, type Gateway } from "../../../src/gateway/gateway.js";
import { FakeStore } from "../../support/fake-credentials.js";
import { openedFeatures } from "../../support/features.js";
import { configOf, listening } from "../../support/gateway.js";
import { httpWire, pipeWire } from "../../support/host/wires.mjs";
import type { Json } from "../../support/peers/host.js";
import { openLegacy, openModern, type RawHost } from "../../support/peers/raw.js";

export type Era = "legacy" | "modern";
export const ERAS: readonly Era[] = ["legacy", "modern"];

const keyOf = (person: string): string => `key-of-${person}-and-of-no-other`;

export interface Team {
  readonly gateway: Gateway;
  readonly store: FakeStore;
  readonly url: string;
  readonly adminUrl: string;
  /** The warnings of the gateway, one sentence each. */
  readonly warnings: readonly string[];
  /** A host of `person` over HTTP. */
  enter(person: string, era: Era, capabilities?: Json): Promise<RawHost>;
  /** A host on the pipe of the gateway. */
  enterByPipe(era: Era, capabilities?: Json): Promise<RawHost>;
}

export const URLS = { elicitation: { form: {}, url: {} } };

/** Where `person` signs in. */
export const pageOf = (person: string): string => `https://gateway.example/oauth/connect/ticket-of-${person}`;

/** `server` is the entry of the server `quiz`; `config` replaces more of the file. Stopped when the test is over. */
export async function team(
  server: object,
  {
    config = {},
    hasPages = true,
    store = new FakeStore(),
    lists,
  }: {
    config?: object;
    hasPages?: boolean;
    store?: FakeStore;
    /** The state folder, in which lists are kept between runs. Default: there is none. */
    lists?: string;
  } = {},
): Promise<Team> {
  const warnings: string[] = [];
  const keys = ["alice", "bob"].map((id) => ({
    id,
    hash: `sha256:${createHash("sha256").update(keyOf(id)).digest("hex")}`,
  }));
  const logger: Logger = { ...SILENT, warn: (_, sentence) => warnings.push(sentence) };
  const whole = configOf({ auth: { keys }, startupWait: "5s", mcpServers: { quiz: server }, ...config });
  const signIns: OpenFeature = {
    name: "fake sign-ins",
    ...credentialsIn(store, async (_, { principal }) => (hasPages ? pageOf(principal.id) : undefined)),
    close: async () => {},
  };
  const opened = await openedFeatures(whole, { stateFolder: lists });
  const features = [...opened.filter(({ name }) => name !== "sign-in"), signIns];
  const gateway = createGateway(whole, { logger, version: "0.0.0-test", features });
  const { url, adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  const open = { legacy: openLegacy, modern: openModern };
  return {
    gateway,
    store,
    url,
    adminUrl,
    warnings,
    enter: (person, era, capabilities = {}) =>
      open[era](httpWire(url, { authorization: `Bearer ${keyOf(person)}` }), { capabilities }),
    enterByPipe: (era, capabilities = {}) => {
      const [input, output] = [new PassThrough(), new PassThrough()];
      onTestFinished(() => void input.end());
      void gateway.stdio(input, output);
      return open[era](pipeWire(input, output), { capabilities });
    },
  };
}
