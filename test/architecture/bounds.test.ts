/** Every store that ARCHITECTURE.md names ("State, lifetimes, limits") has a bound in bytes, and something that shows it. */

import { createSecretKey } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { LearnedUris } from "../../src/catalog/learned-routes.js";
import { callNotes } from "../../src/core/call-record.js";
import type { Client } from "../../src/core/client.js";
import { MemoryBudget } from "../../src/core/fair-share.js";
import { SILENT } from "../../src/core/logger.js";
import { RefusalLog } from "../../src/downstream/authenticate/refusal-log.js";
import { EventLog } from "../../src/downstream/legacy/event-log.js";
import { RecentClients } from "../../src/downstream/modern/recent-clients.js";
import { ResponseCache } from "../../src/resilience/response-cache.js";
import { RetryBudget } from "../../src/resilience/retry.js";
import { newRoundId, UsedRounds } from "../../src/resilience/used-rounds.js";
import { Tasks } from "../../src/routing/tasks.js";
import { RecentCalls } from "../../src/telemetry/call-history.js";
import { callRecords } from "../../src/telemetry/call-records.js";
import { Payload } from "../../src/wire/payload.js";
import { clientOf, toolCall } from "../support/calls.js";
import { inRepository } from "../support/cardea.js";
import { type Filled, growthOf, large, MIB } from "../support/heap.js";
import { sample } from "../support/sample.js";

/** Where a test elsewhere shows it. */
interface Shown {
  readonly file: string;
  readonly title: string;
}
const BOUNDS: Readonly<Record<string, Shown | Filled>> = {
  "downstream/legacy/session-store.ts": {
    file: "downstream/legacy/sessions.test.ts",
    title: "the clientInfo of hosts counts by its length",
  },
  "downstream/legacy/event-log.ts": {
    mib: 4,
    times: 15,
    fill: () => {
      const budget = new MemoryBudget(3 * MIB);
      const logs = Array.from({ length: 40 }, () => {
        const share = budget.shareOf({ id: "ann" });
        return new EventLog({ maxLength: MIB, maxEvents: 1000 }, share);
      });
      return (at) => logs[at]?.append({ stream: 1, seq: at, data: large(at) });
    },
  },
  "upstream/leases/lease.ts": {
    file: "upstream/lease-limits.test.ts",
    title: "one principal at its limit leaves connections for others",
  },
  "upstream/leases/resource-subscriptions.ts": {
    file: "downstream/legacy/kept.test.ts",
    title: "resources that sessions follow are kept up to a sum, which principals share",
  },
  "features/policy/second-person/approver-hosts.ts": {
    file: "features/policy/second-person/approver-hosts.test.ts",
    title: "one host has a few forms at the same time, which end with their approvals",
  },
  "features/flow/conversations.ts": {
    file: "features/flow/conversations.test.ts",
    title: "of many principals are bounded together",
  },
  "upstream/transport/process-group.ts": {
    file: "upstream/lease-limits.test.ts",
    title: "thirty kinds of capabilities of %s start eight processes",
  },
  "upstream/transport/pid-file-registry.ts": {
    file: "security/processes.test.ts",
    title: "crashes of servers leak no processes and no file descriptors",
  },
  "gateway/draining-servers.ts": {
    file: "reload.test.ts",
    title: "memory of an old config is released after reloads",
  },
  "telemetry/call-history.ts": {
    mib: 2,
    times: 15,
    fill: () => {
      const recent = new RecentCalls();
      const { onEnd } = callRecords([(record) => recent.add(record)]);
      return (at) => {
        const client: Client = { ...clientOf({ affinity: `a${at}` }), info: { name: large(at) } };
        const params = { name: large(at), _meta: { traceparent: large(at) } };
        const { route: _, ...call } = toolCall("files", "read", {}, { params, client });
        const error = { code: -32602, message: "unknown tool" };
        for (const method of ["tools/call", large(at)])
          onEnd({ ...call, method, record: callNotes() }, { kind: "error", error }, 1);
      };
    },
  },
  "features/admin/call-stream.ts": {
    file: "features/admin/call-stream.test.ts",
    title:
      "a slow reader of the call stream loses the oldest rows, receives their number, and then the newest rows",
  },
  "upstream/legacy/parked-calls.ts": {
    file: "upstream/legacy/parked-bodies.test.ts",
    title: "parked calls of a megabyte each hold less than an eighth of that",
  },
  "routing/tasks.ts": {
    mib: 24,
    times: 15,
    fill: () => {
      const tasks = new Tasks(createSecretKey(Buffer.alloc(32, 7)));
      return (at) => {
        const client: Client = { ...clientOf({ affinity: `a${at}` }), info: { name: large(at) } };
        tasks.expose(client, { server: "files", id: `task ${at}`, tool: "t" });
      };
    },
  },
  "catalog/scoped-lists.ts": {
    file: "catalog/kept.test.ts",
    title: "client info is kept within a memory limit",
  },
  "catalog/views.ts": {
    file: "catalog/kept.test.ts",
    title: "client info is kept within a memory limit",
  },
  "catalog/learned-routes.ts": {
    mib: 1,
    times: 12,
    fill: () => {
      const learned = new LearnedUris();
      return (at) => learned.learn("ann", large(at), "files");
    },
  },
  "downstream/modern/subscriptions.ts": {
    file: "downstream/modern/kept.test.ts",
    title: "the names of all filters together are bounded, and principals share that",
  },
  "features/policy/limits/limits.ts": {
    file: "features/policy/bounds.test.ts",
    title: "memory stays bounded while hosts send without end:",
  },
  "features/policy/second-person/open-approvals.ts": {
    file: "features/policy/second-person/second-person.test.ts",
    title: "are bounded for each principal and in all, and make room as they end",
  },
  "features/policy/approvals.ts": {
    file: "features/policy/bounds.test.ts",
    title: "memory stays bounded while hosts send without end:",
  },
  "resilience/used-rounds.ts": {
    mib: 1,
    times: 12,
    fill: () => {
      const rounds = new UsedRounds();
      return (at) => void rounds.use({ id: large(at) }, newRoundId(at + 1));
    },
  },
  "resilience/response-cache.ts": {
    mib: 20,
    times: 30,
    fill: () => {
      const cache = new ResponseCache();
      const until = Number.POSITIVE_INFINITY;
      return (at) =>
        cache.set(String(at), {
          result: Payload.ofText(`{"a":"${large(at).slice(0, MIB - 100)}"}`),
          scope: "public",
          until,
        });
    },
  },
  "resilience/retry.ts": {
    mib: 1,
    times: 10_000,
    fill: () => {
      const budget = new RetryBudget();
      return () => budget.count();
    },
  },
  "features/kept-lists/list-files.ts": {
    file: "features/kept-lists/list-files.test.ts",
    title: "are deleted beyond a thousand, least recently used first",
  },
  "features/kept-lists/server-file.ts": {
    file: "features/kept-lists/list-files.test.ts",
    title: "is not written if it is larger than 16 MiB, which is logged once",
  },
  "upstream/folders/rooted-upstream.ts": {
    file: "scenarios/working-folders.test.ts",
    title: "beyond the 32nd replaces the one that was used least recently",
  },
  "state/sessions/session-files.ts": {
    file: "state/sessions/over-a-restart.test.ts",
    title: "that ended processes left is removed beyond the limit, the oldest first",
  },
  "state/sessions/process-folders.ts": {
    file: "state/sessions/over-a-restart.test.ts",
    title: "that ended processes left is removed beyond the limit, the oldest first",
  },
  "features/schema-checks/schema-checks.ts": {
    file: "features/schema-checks/json-schema/pattern.test.ts",
    title: "never has more instructions than estimated",
  },
  "features/policy/decision-log.ts": {
    file: "features/policy/bounds.test.ts",
    title: "memory stays bounded while hosts send without end:",
  },
  "downstream/modern/recent-clients.ts": {
    mib: 2,
    times: 15,
    fill: () => {
      const clients = new RecentClients();
      return (at) => clients.of({ ...clientOf(), endpoint: large(at), info: { name: large(at) } });
    },
  },
  "downstream/authenticate/refusal-log.ts": {
    mib: 2,
    times: 15,
    fill: () => {
      const log = new RefusalLog(SILENT);
      return (at) => log.add("unknown_key", large(at), undefined);
    },
  },
  "features/results/kept-results.ts": {
    file: "features/results/isolation.test.ts",
    title: "what is over the bytes of a principal displaces its own oldest results only",
  },
  "features/trust/server-approvals.ts": {
    file: "features/trust/server-approvals.test.ts",
    title: "a server whose names change with each list holds those of its last one",
  },
  "features/tool-search/tool-search.ts": {
    file: "features/tool-search/tool-search.test.ts",
    title: "indexes of dropped lists are released",
  },
  "features/admin/console-links.ts": {
    file: "features/admin/console-links.test.ts",
    title: "is one of sixteen: a further one ends the oldest",
  },
  "http/rate-limit.ts": {
    file: "features/authorization-server/registration.test.ts",
    title: "use bounded memory for any number of addresses",
  },
  "features/authorization-server/client-documents.ts": {
    file: "features/authorization-server/client-documents.test.ts",
    title: "is cached for at most 200 hosts",
  },
  "features/authorization-server/grants.ts": {
    file: "features/authorization-server/grants.test.ts",
    title: "a person has at most 50 sign-ins",
  },
  "telemetry/pending-questions.ts": {
    file: "telemetry/pending-questions.test.ts",
    title: "take little memory, however large the state of their servers",
  },
};

const page = readFileSync(inRepository("ARCHITECTURE.md"), "utf8");
const section = page.slice(
  page.indexOf("## State, lifetimes, limits"),
  page.indexOf("## When there is too much"),
);
const rows = [...section.matchAll(/^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$/gm)]
  .map(([, state = "", owners = "", , most = ""]) => ({
    state,
    owners: [...owners.matchAll(/`([^`]+)`/g)].map(([, owner = ""]) => owner),
    most,
  }))
  .filter(({ owners }) => owners.length > 0);

test("every row of the limits table has a limit, and every store in it has a test", () => {
  expect(rows.length).toBeGreaterThan(14);
  for (const { state, owners, most } of rows) {
    expect([state, most]).toEqual([state, expect.stringMatching(/\d|one/)]);
    for (const owner of owners) expect([owner, owner in BOUNDS]).toEqual([owner, true]);
  }
  expect(Object.keys(BOUNDS).toSorted()).toEqual(
    [...new Set(rows.flatMap(({ owners }) => owners))].toSorted(),
  );
});

test("every test that the limits table names exists, by its title", () => {
  for (const bound of Object.values(BOUNDS)) {
    if (!("file" in bound)) continue;
    const path = inRepository(`test/${bound.file}`);
    // A build may be without a feature, and then without the tests that need the listener for operators.
    if (bound.file.startsWith("features/") && !existsSync(dirname(path))) continue;
    if (!existsSync(path) && !existsSync(inRepository("src/features/admin"))) continue;
    const found = existsSync(path) && readFileSync(path, "utf8").includes(bound.title);
    expect([bound.file, bound.title, found]).toEqual([bound.file, bound.title, true]);
  }
});

describe("memory stays bounded while hosts send without end:", () => {
  const filled = Object.entries(BOUNDS).flatMap(([owner, bound]) =>
    "fill" in bound ? [[owner, bound] as const] : [],
  );
  test.each(sample("stores", filled, 3))("%s", async (_, store) => {
    expect(await growthOf(store)).toBeLessThan(store.mib);
  });
});
