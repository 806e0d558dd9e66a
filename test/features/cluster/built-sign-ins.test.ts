/** Two replicas of the built program, a real Redis and a server behind a real login, whose tokens are renewed in a process of their own. */
import "../admin/needed.js";
import { readFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { hasFeature } from "../../support/features.js";
import { descendantsOf } from "../../support/processes.js";
import { hasRedis } from "../../support/redis.js";
import { Browser } from "../../support/sign-in/browser.js";
import { type RealIssuer, startRealIssuer } from "../../support/sign-in/real-issuer.mjs";
import { type Replicas, startReplicas } from "./built-replicas.js";

interface Result {
  readonly content: readonly { readonly text?: string }[];
  readonly _meta?: { readonly "cardea/sign-in"?: { readonly url: string } };
}

describe.runIf(hasRedis && hasFeature("sign-in"))("two replicas of the built program", () => {
  let replicas: Replicas;
  let issuer: RealIssuer;
  beforeAll(async () => {
    issuer = await startRealIssuer();
    replicas = await startReplicas(2, () => ({
      credentials: { key: Buffer.alloc(32, 3).toString("base64") },
      mcpServers: { notes: { url: issuer.mcpUrl } },
    }));
  });
  afterAll(async () => {
    await replicas?.stop();
    await issuer?.close();
  });

  test("share a sign-in, and renew its token in a process that opens the store itself", async () => {
    const hosts = await Promise.all(
      replicas.all.map(async ({ url }) => {
        const client = new Client({ name: "host", version: "1" }, { versionNegotiation: { mode: "auto" } });
        await client.connect(new StreamableHTTPClientTransport(new URL(url)));
        onTestFinished(() => client.close());
        // On a busy machine the store may not answer in time; the host then gets a retryable error.
        const call = async (): Promise<Result> => {
          const result = (await client.callTool({ name: "notes__whoami", arguments: {} })) as Result;
          return result.content[0]?.text?.endsWith("A retry may help.") === true ? call() : result;
        };
        return call;
      }),
    );
    const refused = await hosts[0]?.();
    const page = await new Browser().signIn(refused?._meta?.["cardea/sign-in"]?.url ?? "", "ann");
    expect(page.text).toContain("Signed in to notes");
    const said = async (): Promise<ReadonlySet<string | undefined>> =>
      new Set(
        (await Promise.all([...hosts, ...hosts, ...hosts].map((call) => call()))).map(
          ({ content }) => content[0]?.text,
        ),
      );
    const ann = new Set([expect.stringContaining("ann")]);
    expect(await said()).toEqual(ann);
    for (let round = 0; round < 3; round += 1) {
      issuer.expireAccessTokens();
      expect(await said()).toEqual(ann);
    }
    if (process.platform !== "linux") return;
    const programs = replicas.all.flatMap(({ process: { pid } }) =>
      descendantsOf(pid).map((each) => readFileSync(`/proc/${each}/cmdline`, "utf8")),
    );
    expect(programs.filter((words) => words.includes("renewal-process")).length).toBeGreaterThan(0);
  });
});
