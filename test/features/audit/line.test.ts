/** Lines of the chain: what is written is read again, and every changed byte is found. */
import { expect, test } from "vitest";
import { CHAIN_START, checkLine, sealLine } from "../../../src/features/audit/line.js";
import type { AuditEvent } from "../../../src/features/audit/types.js";
import fc from "../../support/fast-check.js";

const NOW = () => new Date("2027-01-01T00:00:00Z");
const text = fc.string({ unit: "binary" });
const events: fc.Arbitrary<AuditEvent> = fc.record(
  {
    kind: fc.constantFrom("call", "question", "approval", "admin", "start" as const),
    principal: text,
    target: text,
    outcome: text,
    arguments: fc.jsonValue(),
  },
  { requiredKeys: ["kind"] },
);

const bytesOf = (line: string): Buffer => Buffer.from(line.slice(0, -1));

test("every event is one line that is parsed as written, and links to the previous line", () => {
  fc.assert(
    fc.property(fc.array(events, { minLength: 1, maxLength: 5 }), (all) => {
      let last = CHAIN_START;
      for (const event of all) {
        const line = sealLine(event, last, NOW);
        expect(line.text.indexOf("\n")).toBe(line.text.length - 1);
        const check = checkLine(bytesOf(line.text));
        if (!check.ok) throw new Error(check.reason);
        expect(check.line).toMatchObject({ seq: last.seq + 1, prev: last.hash, hash: line.hash });
        const written = JSON.parse(JSON.stringify({ at: NOW().toISOString(), ...event }));
        expect(check.line.members).toMatchObject(written);
        last = line;
      }
    }),
  );
});

test("a line with one changed byte is detected, wherever the byte is", () => {
  fc.assert(
    fc.property(events, fc.nat(), fc.integer({ min: 1, max: 255 }), (event, at, change) => {
      const bytes = bytesOf(sealLine(event, CHAIN_START, NOW).text);
      const place = at % bytes.length;
      bytes[place] = (bytes[place] ?? 0) ^ change;
      expect(checkLine(bytes).ok).toBe(false);
    }),
  );
});

test("an invalid line is refused with a reason", () => {
  for (const junk of ["", "null", "[]", "{}", '{"seq":1}', "x".repeat(200)])
    expect(checkLine(Buffer.from(junk))).toMatchObject({ ok: false });
});
