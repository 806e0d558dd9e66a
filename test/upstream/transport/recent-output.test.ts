/** What is kept of what a process wrote, and how it is quoted. */

import { expect, test } from "vitest";
import { printable, RecentOutput } from "../../../src/upstream/transport/recent-output.js";
import fc from "../../support/fast-check.js";

test("the tail of the output is kept, however it is chunked", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 40 })), fc.integer({ min: 1, max: 50 }), (pieces, size) => {
      const ascii = pieces.map((piece) => piece.replace(/[^ -~]/g, "?"));
      const recent = new RecentOutput(size);
      for (const piece of ascii) recent.push(Buffer.from(piece));
      expect(recent.text).toBe(ascii.join("").slice(-size));
    }),
    { numRuns: 1000 },
  );
});

test("the excerpt is one short line", () => {
  const recent = new RecentOutput();
  expect(recent.errorExcerpt).toBe("");
  recent.push(Buffer.from(`${"noise\n".repeat(1000)}\x1b[1;31mit broke\x1b[0m\r\n\tin x.js:1\n\n`));
  expect(recent.errorExcerpt).toMatch(/^…[ noise]+ it broke in x\.js:1$/);
  expect(recent.errorExcerpt.length).toBeLessThanOrEqual(401);
});

test("the excerpt is the last error, if a stack trace or usage text follows it", () => {
  const quoted = (text: string): string => {
    const recent = new RecentOutput();
    recent.push(Buffer.from(text));
    return recent.errorExcerpt;
  };
  const usage = "  --flag <value>   what it is for\n".repeat(60);
  expect(quoted(`started\n\x1b[31mError:\x1b[0m no token was given\nUsage: x\n${usage}`)).toMatch(
    /^Error: no token was given Usage: x --flag .{300,}…$/,
  );
  const stack = "    at load (/a/long/path/to/some/file.js:1:2)\n".repeat(20);
  expect(quoted(`throw err;\n^\n\nTypeError: x is not a function\n${stack}\nNode.js v20.20.2\n`)).toMatch(
    /^TypeError: x is not a function at load/,
  );
  expect(quoted(`Traceback\n${stack}ValueError: nothing\n`)).toBe("ValueError: nothing");
  expect(quoted(`Error: long ago\n${"all is well\n".repeat(1000)}`)).toMatch(/^…[ a-z]+ all is well$/);
});

test("the excerpt begins at the error message, whatever output follows", () => {
  const quoted = (text: string): string => {
    const recent = new RecentOutput();
    recent.push(Buffer.from(text));
    return recent.errorExcerpt;
  };
  const dump = Array.from({ length: 40 }, (_, at) => `    'header-${at}': 'value ${at}',`).join("\n");
  expect(quoted(`starting\nfailed: Error: the token is not valid\n${dump}\n  }\n}\n`)).toMatch(
    /^failed: Error: the token is not valid 'header-0'/,
  );
  expect(quoted(`{\n  "level": "fatal",\n  "msg": "no key",\n${dump}\n}\n`)).toMatch(
    /^"level": "fatal", "msg": "no key"/,
  );
  const npm = "npm error code E404\nnpm error 404 Not Found - GET https://r.example/x\n";
  expect(
    quoted(`${npm}${"npm error 404 Note that you can also install from a tarball\n".repeat(9)}`),
  ).toMatch(/^npm error code E404 npm error 404 Not Found - GET/);
});

test("no control or bidi character is printable", () => {
  const text = "a\x1b]0;title\x07b\x1b[2Jc\x9bd\u202ee\u2066f\ufeffg\0h\u2028i";
  expect(printable(text)).toBe("abc defg h i");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (any) => {
      expect(printable(any)).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    }),
  );
});

test("secrets are redacted before the excerpt is cut and put on one line", () => {
  const secret = "first  line of it\nsecond line of it";
  const recent = new RecentOutput(undefined, (text) => text.replaceAll(secret, "[redacted]"));
  recent.push(Buffer.from(`${"noise ".repeat(100)}\n${secret}\n${"x".repeat(390)}\n`));
  expect(recent.errorExcerpt).toBe(`…redacted] ${"x".repeat(390)}`);
});
