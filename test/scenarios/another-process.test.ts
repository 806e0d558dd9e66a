/** A host that comes back to another process than the one that asked it: both have the same key. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/peers/host.js";
import { countOf } from "../support/scripted/ledger.js";
import { UPSTREAMS } from "../support/scripted/upstreams.js";
import { HOSTS, NEVER, openHost, type ScenarioHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const ACCEPT = { action: "accept", content: { it: "yes" } };
const OVER_HTTP = UPSTREAMS.filter(({ transport }) => transport !== "stdio");

describe.each([HOSTS.modernHttp, HOSTS.modernStdio].map((kind) => [kind.name, kind] as const))(
  "%s",
  (_name, kind) => {
    const config = { keys: { state: randomBytes(32).toString("base64") } };
    let first: Stage;
    let second: Stage;
    let asked: ScenarioHost;
    let back: ScenarioHost;
    beforeAll(async () => {
      first = await openStage(OVER_HTTP, { config });
      second = await openStage(OVER_HTTP, { config, behind: first });
      [asked, back] = [await openHost(first, kind), await openHost(second, kind)];
    });
    afterAll(() => Promise.all([second.close(), first.close()]));

    test.each(OVER_HTTP.map((upstream) => [upstream.name, upstream] as const))(
      "resumes a call by its requestState in another process, and gets an error where the call was parked in the first: %s",
      async (_server, upstream) => {
        const label = `${kind.key} ${upstream.key}`;
        const name = `${upstream.key}__form`;
        const calling = asked.call(name, { label }, NEVER);
        await calling.whenAsked();
        const [requestState] = calling.states;
        const response = await back.raw.send(label, "tools/call", {
          name,
          arguments: { label },
          inputResponses: { one: ACCEPT },
          requestState,
        });
        const ledger = first.upstream(upstream).ledger();
        if (upstream.era === "modern") {
          const text = JSON.stringify({ one: { result: ACCEPT } });
          expect(response).toMatchObject({ result: { content: [{ text }] } });
        } else {
          const { _meta } = response.result as { _meta: Json };
          expect(_meta["cardea/refusal"]).toMatchObject({ code: "outcome_unknown", retryable: false });
        }
        // Whatever came of it, the tool was begun once.
        expect(countOf(ledger, "begun", label)).toBe(1);
        expect(countOf(ledger, "done", label)).toBe(upstream.era === "modern" ? 1 : 0);
      },
    );
  },
);
