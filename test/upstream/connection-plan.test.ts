/** Who shares a connection with whom: every kind of client, with everything that can be known of a server. */
import { describe, expect, test } from "vitest";
import { usableServers } from "../../src/config/config.js";
import type { Client } from "../../src/core/client.js";
import { connectionPlan, listScopeOf, type PlanFacts } from "../../src/upstream/leases/connection-plan.js";
import { ServerCredentials } from "../../src/upstream/leases/server-credentials.js";
import type { JsonObject } from "../../src/wire/json.js";
import { FakeStore } from "../support/fake-credentials.js";
import { configOf } from "../support/gateway.js";
import { client } from "../support/met-upstream.js";

const MODES = ["auto", "shared", "session", "principal"] as const;
const ERAS = ["legacy", "modern", undefined] as const;
const BOTH = [false, true];
const CAPABILITIES: readonly JsonObject[] = [
  {},
  { sampling: {} },
  { elicitation: {}, roots: {} },
  { extensions: { "x/ui": {} } },
];
const [SERVER] = usableServers(configOf({ mcpServers: { api: { url: "https://api.example/mcp" } } }));

function credentialsOf(areNeeded: boolean): ServerCredentials {
  if (SERVER === undefined) throw new Error("no server");
  const store = new FakeStore();
  return new ServerCredentials(SERVER, { store, areNeeded, onNeeded: () => {}, onChanged: () => {} });
}

const FACTS: readonly PlanFacts[] = BOTH.flatMap((areNeeded) => {
  const credentials = credentialsOf(areNeeded);
  return MODES.flatMap((lease) =>
    ERAS.flatMap((era) =>
      BOTH.map((opensSessions) => ({
        ...{ lease, era, credentials },
        usesSession: ({ session }: Client) =>
          era === "modern" && lease !== "shared" && opensSessions && session,
        advertisedFor: ({ capabilities }: Client) => capabilities,
        advertisedInRequests: ({ capabilities }: Client) => capabilities,
      })),
    ),
  );
});

/** The last one has an id that imitates a key of the gateway. */
const IDS = ["anonymous", "ann", "bo", '["credentials","ann"]'];

/** As the edges make them: an affinity belongs to one session, or to one principal with its capabilities. */
const CLIENTS: readonly Client[] = IDS.flatMap((id) =>
  CAPABILITIES.flatMap((capabilities) =>
    [undefined, 1, 2].map((session) =>
      client({
        principal: { id, groups: [], claims: {} },
        affinity: JSON.stringify(
          session === undefined ? ["p", id, capabilities] : ["s", id, capabilities, session],
        ),
        session: session !== undefined,
        capabilities,
      }),
    ),
  ),
);

/** The clients of each connection that is kept for some, with all plans. */
const GROUPS = FACTS.flatMap((facts) => {
  const planned = CLIENTS.flatMap((each) => {
    const plan = connectionPlan(each, facts);
    return plan === undefined ? [] : [{ each, plan }];
  });
  const keys = new Set(planned.map(({ plan }) => plan.lease.listScope.key));
  return [...keys].map((key) => ({
    ...{ key, facts },
    members: planned.filter(({ plan }) => plan.lease.listScope.key === key),
  }));
});

describe("a connection that several clients share", () => {
  const shared = GROUPS.filter(({ members }) => members.length > 1);

  test("serves several principals only where it carries no credentials of one of them", () => {
    const ofSeveral = shared.filter(({ members }) => new Set(members.map(idOf)).size > 1);
    expect(ofSeveral.length).toBeGreaterThan(0);
    for (const { facts, members } of ofSeveral) {
      expect(members.some(({ each }) => facts.credentials.separates(each))).toBe(false);
      expect(new Set(members.map(({ plan }) => plan.lease.credentials)).size).toBe(1);
    }
  });

  test("advertises what each of them has declared, unless the config says that all share", () => {
    const chosen = shared.filter(({ key, facts }) => facts.lease !== "shared" && key !== "sessions");
    expect(chosen.length).toBeGreaterThan(0);
    for (const { key, members } of chosen) {
      const advertised = members.map(({ plan }) => JSON.stringify(plan.lease.advertised));
      expect(new Set(advertised).size, key).toBe(1);
    }
  });

  test("that is one of all sessions advertises nothing that a host can be asked", () => {
    const members = shared.flatMap((one) => (one.key === "sessions" ? one.members : []));
    expect(members.length).toBeGreaterThan(0);
    expect(members.filter(({ each, plan }) => canBeAsked(each) || plan.isOptional === false)).toEqual([]);
  });

  test("has no session that can be asked, unless the config says that principals or all share", () => {
    const inAuto = shared.filter(({ facts }) => facts.lease === "auto");
    const asked = inAuto.flatMap(({ members }) =>
      members.filter(({ each, plan }) => each.session && plan.lease.opensSession && canBeAsked(each)),
    );
    expect(asked).toEqual([]);
  });
});

test("a client gets the lists of the connection that it uses", () => {
  for (const { facts, members } of GROUPS) {
    for (const { each, plan } of members) expect(plan.lease.listScope).toEqual(listScopeOf(each, facts));
  }
});

test("only a modern server, and only a client without credentials of its own, may fall back to the shared connection", () => {
  for (const { facts, members } of GROUPS) {
    for (const { each, plan } of members)
      expect(plan.isOptional).toBe(facts.era === "modern" && !facts.credentials.separates(each));
  }
});

const idOf = ({ each }: { readonly each: Client }): string => each.principal.id;
const canBeAsked = ({ capabilities }: Client): boolean =>
  Object.hasOwn(capabilities, "sampling") || Object.hasOwn(capabilities, "elicitation");
