/** A secret in the arguments of a call reaches no server of either era, whatever host sends it. */
import { describe, expect, test } from "vitest";
import { HOSTS, openGateway } from "../../../support/open-gateway.js";

const PAIRS = HOSTS.flatMap((host) => (["legacy", "modern"] as const).map((server) => ({ ...host, server })));
/** Joined here, as a whole token in a file would be reported to its issuer. */
const TOKEN = `glpat-${"q7Zp2Lw9Xc4Vb8Nm1Kj6"}`;

describe.each(PAIRS)("a $era host over $door at $server servers", ({ server, ...kind }) => {
  test("the server gets the call without the secret, and the server beside it as it was sent", async () => {
    const tools = ["post"];
    const gateway = await openGateway(
      { notes: { era: server, tools }, vault: { era: server, tools } },
      {
        policy: {
          rules: [{ tools: ["notes__*"], effect: "redact", redact: { detect: ["secrets"] } }],
        },
      },
    );
    const host = await gateway.host(kind);
    for (const name of ["notes__post", "vault__post"]) {
      const response = await host.send(host.nextId(), "tools/call", {
        name,
        arguments: { text: `use ${TOKEN} now` },
      });
      expect(response.result).toBeDefined();
    }
    const got = gateway.received.map(({ server: at, params }) => [
      at,
      (params.arguments as { text: string }).text,
    ]);
    expect(got).toEqual([
      ["notes", expect.stringMatching(/^use \[redacted[^\]]*\] now$/)],
      ["vault", `use ${TOKEN} now`],
    ]);
    expect(JSON.stringify(gateway.received.filter((one) => one.server === "notes"))).not.toContain(TOKEN);
  });
});
