/** docs/audit.md names every field of a line. */
import { expect, test } from "vitest";
import { CHAIN_START, sealLine } from "../../../src/features/audit/line.js";
import type { AuditEvent } from "../../../src/features/audit/types.js";
import { firstColumn, docsPage as page } from "../../support/docs-pages.js";

test("each field of an audit line is in its table, and no other is", () => {
  const event: Required<AuditEvent> = {
    ...{ kind: "call", at: "2026-01-01T00:00:00.000Z", principal: "a", host: "b", method: "c", target: "d" },
    ...{
      server: "e",
      decision: "f",
      rule: "g",
      outcome: "h",
      argumentsDigest: "i",
      arguments: {},
      address: "k",
      caller: "l",
      traceId: "j",
    },
    ms: { total: 1, queue: 0, policy: 0, upstream: 0, input: 0 },
  };
  const written = JSON.parse(sealLine(event, CHAIN_START, () => new Date(0)).text) as object;
  const fields = firstColumn(page("audit").split("| `kind` | |", 1)[0] ?? "", "Lines");
  expect([...fields].sort()).toEqual(Object.keys(written).sort());
});
