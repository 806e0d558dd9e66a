/** What a rule with `detect` takes out of calls, results and questions, and what it leaves unchanged. */
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Call, Notice, Reply } from "../../../../src/core/call.js";
import type { DetectedKind } from "../../../../src/features/policy/detect/detector.js";
import { ExactNumber } from "../../../../src/wire/json.js";
import { result, toolCall } from "../../../support/calls.js";
import { asksPeople, elicitation, questions } from "../replies.js";
import { policyOf } from "../support.js";

const NOTHING = { paths: [], patterns: [] };
const ALL: readonly DetectedKind[] = ["secrets", "email", "card", "iban", "phone"];

function detecting(detect: readonly DetectedKind[], server?: (call: Call) => Promise<Reply>) {
  const redact = { arguments: NOTHING, results: NOTHING, replacement: "[x]", detect };
  return policyOf({ rules: [{ effect: "redact", redact }] }, server);
}

/** The object as the host gets it. */
async function seen(object: object, detect = ALL): Promise<unknown> {
  const { handle } = detecting(detect, async () => result(object as never));
  const reply = await handle(toolCall("db", "query"));
  return reply.kind === "result" ? reply.result.object : reply;
}

async function textSeen(text: string, detect = ALL): Promise<string> {
  const { content } = (await seen({ content: [{ type: "text", text }] }, detect)) as {
    content: [{ text: string }];
  };
  return content[0].text;
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
function signed(body: string): string {
  let rest = crc32(body);
  let digits = "";
  for (let at = 0; at < 6; at++) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return body + digits;
}
const BODY = "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ";
const HEX = "0f3a9c5e7b1d2468ace013579bdf2468ace013579bdf0f3a9c5e7b1d2468ace0";
const RANDOM = "q7Zp2Lw9Xc4Vb8Nm1Kj6Hg3Fd5Sa0TyUiOpErWq";
const grafana = (head: string): string => `${head}_${crc32(head).toString(16).padStart(8, "0")}`;

/** Pieces are joined here, as a whole token in a file would be reported to its issuer. */
const TOKENS: readonly (readonly [string, string])[] = [
  ["AWS", `AKIA${"IOSFODNN7EXAMPLE"}`],
  ["GitHub", `ghp_${signed(BODY)}`],
  ["GitHub, of an installation, long", `ghs_${RANDOM}.${RANDOM}`],
  ["GitHub, fine-grained", `github_pat_${RANDOM.slice(0, 22)}_${(RANDOM + RANDOM).slice(0, 59)}`],
  ["GitLab", `glpat-${RANDOM.slice(0, 20)}`],
  ["Slack", `xoxb-${"123456789012-1234567890123-"}${RANDOM.slice(0, 24)}`],
  ["Slack, a webhook", `hooks.slack.com/services/${"T00000000/B00000000/"}${RANDOM.slice(0, 24)}`],
  ["Stripe", `sk_live_${RANDOM.slice(0, 24)}`],
  ["Google", `AIza${RANDOM.slice(0, 35)}`],
  ["OpenAI", `sk-proj-${RANDOM}${RANDOM}`],
  ["OpenAI, old", `sk-${RANDOM}`],
  ["Anthropic", `sk-ant-${"api03-"}${RANDOM}${RANDOM}`],
  ["npm", `npm_${signed(BODY)}`],
  ["PyPI", `pypi-AgE${RANDOM}${RANDOM}`],
  ["Hugging Face", `hf_${RANDOM.replace(/\d/g, "x").slice(0, 34)}`],
  ["SendGrid", `SG.${RANDOM.slice(0, 22)}.${(RANDOM + RANDOM).slice(0, 43)}`],
  ["DigitalOcean", `dop_v1_${HEX}`],
  ["Grafana", grafana(`glsa_${RANDOM.slice(0, 32)}`)],
  ["a web token", `eyJ${"hbGciOiJIUzI1NiJ9"}.eyJ${"zdWIiOiIxMjM0NTY3ODkwIn0"}.${RANDOM}`],
  [
    "a private key",
    `-----BEGIN RSA ${"PRIVATE KEY-----"}\n${RANDOM}\n${RANDOM}\n-----END RSA PRIVATE KEY-----`,
  ],
  ["a private key without its end", `-----BEGIN ${"PRIVATE KEY-----"}\n${RANDOM}\n${RANDOM}`],
];

describe("secrets", () => {
  test.each(TOKENS)("%s is taken out of a sentence, and nothing else of it", async (_, token) => {
    expect(await textSeen(`use ${token} (today), please`)).toBe("use [x] (today), please");
    expect(await textSeen(`?a=%3D${token}&b`)).toBe("?a=%3D[x]&b");
    expect(await textSeen(token)).toBe("[x]");
  });

  test.each([
    ["GitHub", `ghp_${"A".repeat(36)}`],
    ["npm", `npm_${BODY}000000`],
    ["Grafana", `glsa_${RANDOM.slice(0, 32)}_00000000`],
  ])("a text with the shape of %s and wrong check digits stays", async (_, text) => {
    expect(await textSeen(text)).toBe(text);
  });

  test.each([
    ["api_key = '?'"],
    ['{"clientSecret": "?", "a": 1}'],
    ["export AUTH_TOKEN=?"],
    ["Authorization: Bearer ?"],
    ["the password is: ?"],
    ["postgres://app:?@db/x"],
  ])("a random value stands beside a key word: %s", async (sentence) => {
    const random = RANDOM.slice(0, 28);
    expect(await textSeen(sentence.replace("?", random))).toBe(sentence.replace("?", "[x]"));
  });

  test.each([
    ["api_key = 'your-api-key-goes-here'"],
    ["the key: src/features/policy/key-words.ts"],
    [`commit ${HEX.slice(0, 40)}`],
    [`"nextPageToken": "${RANDOM}"`],
    ["token: 2026-11-28T21:18:00.000Z"],
    ["postgres://user:password@db/x"],
    ["sk-learn and SKIP, key-value, hf_hub, AKIA"],
    [`data:image/png;base64,${RANDOM}${RANDOM}`],
  ])("%s stays", async (text) => {
    expect(await textSeen(text, ["secrets"])).toBe(text);
  });

  test("the name of a member is a key word too", async () => {
    const structuredContent = {
      apiKey: RANDOM,
      access_token: RANDOM,
      nextToken: RANDOM,
      id: RANDOM,
      password: "short",
    };
    expect(await seen({ content: [], structuredContent })).toEqual({
      content: [],
      structuredContent: { ...structuredContent, apiKey: "[x]", access_token: "[x]" },
    });
  });

  test("are found wherever they stand in a long text", async () => {
    const token = `ghp_${signed(BODY)}`;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 70_000 }),
        fc.constantFrom(" ", "eyJ ", "a:", "-"),
        async (at, filler) => {
          const before = `${filler.repeat(Math.ceil(at / filler.length)).slice(0, at)} `;
          expect(await textSeen(`${before}${token} ${filler.repeat(9_000)}`, ["secrets"])).toBe(
            `${before}[x] ${filler.repeat(9_000)}`,
          );
        },
      ),
      { numRuns: 12 },
    );
  });
});

describe("personal data", () => {
  test.each<[DetectedKind, string, string]>([
    ["email", "to ann.lee+x@mail.example.org, now", "to [x], now"],
    ["email", "<jürgen@bücher.example>", "<[x]>"],
    ["card", "card 4111 1111 1111 1111 ok", "card [x] ok"],
    ["card", "1 4111111111111111.", "1 [x]."],
    ["card", "amex 3782-822463-10005", "amex [x]"],
    ["iban", "to DE89 3704 0044 0532 0130 00 today", "to [x] today"],
    ["iban", "GB29NWBK60161331926819", "[x]"],
    ["iban", "ES91 2100 0418 4502 0005 1332 from here", "[x] from here"],
    ["phone", "call +49 (30) 901820 or 212-555-0142", "call [x] or [x]"],
  ])("%s: %s", async (kind, text, clean) => {
    expect(await textSeen(text, [kind])).toBe(clean);
    for (const other of ALL) if (other !== kind) expect(await textSeen(text, [other])).toBe(text);
  });

  test.each([
    ["npm i @scope/name and user@localhost"],
    ["4111111111111112"],
    ["0.4111111111111111"],
    ["41111111111111111111111"],
    ["DE88370400440532013000"],
    ["1+2345678 and 2026-11-28"],
    ["id 7d1b4111-1111-1111-1111-0123456789ab"],
  ])("%s stays", async (text) => {
    expect(await textSeen(text, ["email", "card", "iban", "phone"])).toBe(text);
  });
});

describe("every part of a call", () => {
  const token = `ghp_${signed(BODY)}`;

  test("arguments are changed in place, and other numbers and members keep their form", async () => {
    const { handle, calls } = detecting(["secrets", "card"]);
    const exact = new ExactNumber("1.0");
    await handle(
      toolCall("db", "query", { q: `a ${token}`, [token]: true, n: exact, card: 4111111111111111 }),
    );
    expect(calls[0]?.params.arguments).toEqual({ q: "a [x]", "[x]": true, n: exact, card: "[x]" });
  });

  test("results without a find are the very same object", async () => {
    const object = { content: [{ type: "text", text: "all is well" }], structuredContent: { a: [1, "b"] } };
    expect(await seen(object)).toBe(object);
  });

  test("errors, questions, answers and notifications", async () => {
    const notices: Notice[] = [];
    const { handle } = detecting(["secrets"], async (call) => {
      call.notify({
        method: "notifications/progress",
        params: { progressToken: 1, progress: 1, message: token },
      });
      return { kind: "error", error: { code: -1, message: `no ${token}` } };
    });
    const reply = await handle({ ...toolCall("db", "query"), notify: (notice) => notices.push(notice) });
    expect(reply).toMatchObject({ kind: "error", error: { code: -1, message: "no [x]" } });
    expect(notices).toMatchObject([{ params: { progressToken: 1, message: "[x]" } }]);
    const asking = detecting(["secrets"], async () =>
      questions({ a: elicitation(`is ${token} right?`) }, "state"),
    );
    expect(await asking.handle(toolCall("quiz", "start", {}, { client: asksPeople }))).toMatchObject({
      requests: { a: { params: { message: "is [x] right?" } } },
    });
  });
});
