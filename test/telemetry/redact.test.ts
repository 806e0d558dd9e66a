/** What is about to be shown holds no secret: known ones in whatever form, then names, then looks. */
import { describe, expect, test } from "vitest";
import { Redactor } from "../../src/telemetry/redact.js";
import fc from "../support/fast-check.js";
import { stepsOf } from "../support/steps.js";

const redactorOf = (...values: readonly string[]): Redactor => {
  const redactor = new Redactor();
  redactor.add(values);
  return redactor;
};
const SECRET = 'zx"9 \\ kéy/+=?  two-blanks&4';
const LINES = "-first line of it-\nsecond line: q7w8e9\r\nthird line / r5t6y7";

describe("a reference to a variable", () => {
  test.each([
    'such as "Authorization": "Bearer ${TOKEN}"',
    '{"API_KEY":"${env:MY_KEY}"}',
    "Authorization: Basic ${PASSWORD}, or another",
    String.raw`{\"password\":\"${"${DB_PASSWORD}"}\"}`,
  ])("is shown where a secret would be redacted: %s", (text) => {
    expect(new Redactor().text(text)).toBe(text);
  });

  test.each([
    ['"Authorization": "Bearer ${TOKEN}k9x8w7q6"', "k9x8w7q6"],
    ['"API_KEY": "${MY_KEY:-k9x8w7q6}"', "k9x8w7q6"],
    ['"password": "k9x8w7q6${TOKEN}"', "k9x8w7q6"],
    ["Authorization: Bearer k9x8${TOKEN}w7q6", "k9x8"],
  ])("hides no secret beside it: %s", (text, secret) => {
    expect(new Redactor().text(text)).not.toContain(secret);
  });
});

describe("a value that is known to be secret", () => {
  test.each<[string, (secret: string) => string]>([
    ["as it is", (secret) => secret],
    ["with runs of white space as one blank", (secret) => secret.replace(/\s+/g, " ")],
    ["in JSON", (secret) => JSON.stringify({ a: secret })],
    ["in JSON in JSON", (secret) => JSON.stringify({ a: JSON.stringify({ b: secret }) })],
    ["percent-encoded", (secret) => `?a=${encodeURIComponent(secret)}&b`],
    ["in a form", (secret) => encodeURIComponent(secret).replaceAll("%20", "+")],
    ["in Base64", (secret) => Buffer.from(secret).toString("base64")],
    ["in Base64 with a user before it", (secret) => Buffer.from(`ann:${secret}`).toString("base64")],
    ["in Base64 for URLs, with text around", (secret) => Buffer.from(`ab${secret}cd`).toString("base64url")],
    ["cut off at its end", (secret) => `it is ${secret.slice(0, 20)}… and so on`],
    ["cut off at its beginning", (secret) => `ended: …${secret.slice(-12)} was given`],
  ])("is taken out %s", (_, write) => {
    for (const secret of [SECRET, "plain-looking-but-known-value", "k".repeat(40)]) {
      const text = redactorOf(secret).text(`before ${write(secret)} after`.trim());
      const inner = write(secret).slice(-10, -3);
      expect(text).toContain("[redacted]");
      for (const piece of [secret, secret.slice(0, 15), secret.slice(-10)]) expect(text).not.toContain(piece);
      expect(text).not.toContain(`${inner}${inner}${inner}`);
    }
  });

  test("is taken out where the text itself is cut", () => {
    const redactor = redactorOf(SECRET);
    expect(redactor.text(`it is ${SECRET.slice(0, 20)}`)).toBe("it is [redacted]");
    expect(redactor.text(`${SECRET.slice(-12)} was given`)).toBe("[redacted] was given");
  });

  test("of several lines goes line by line", () => {
    const redactor = redactorOf(LINES);
    for (const line of LINES.split(/\r?\n/)) {
      expect(redactor.text(`it said ${line} here`)).toBe("it said [redacted] here");
    }
    expect(redactor.text(LINES)).toBe("[redacted]");
    expect(redactor.text(JSON.stringify(LINES))).toBe('"[redacted]"');
    expect(redactor.text(LINES.replace(/\s+/g, " "))).toBe("[redacted]");
  });

  test("goes as a whole where it holds another", () => {
    expect(redactorOf("inner-1", "the-inner-1-outer").text("the-inner-1-outer")).toBe("[redacted]");
  });

  test("is found anywhere, among any number", () => {
    const values = fc.uniqueArray(fc.string({ minLength: 8, maxLength: 30 }), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(values, fc.nat(), fc.string(), fc.string(), (secrets, at, before, after) => {
        const secret = secrets[at % secrets.length] as string;
        const text = redactorOf(...secrets).text(`${before}${secret}${after}`);
        expect(text.includes(secret) && !`${before}[redacted]${after}`.includes(secret)).toBe(false);
      }),
    );
  });
});

/** Concatenated here, so that secret scanners ignore this file. */
const hex = (length: number): string => "0123456789abcdef".repeat(10).slice(0, length);
const word = (length: number): string => "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAbC".repeat(5).slice(0, length);
const upper = (length: number): string => word(200).toUpperCase().slice(0, length);
const FORMATS: readonly (readonly [string, string])[] = [
  ["GitHub", `ghp_${word(36)}`],
  ["GitHub OAuth", `gho_${word(36)}`],
  ["GitHub, fine-grained", `github_pat_${word(22)}_${word(59)}`],
  ["GitLab", `glpat-${word(20)}`],
  ["Slack bot", `xoxb-123456789012-123456789012-${word(24)}`],
  ["Slack app", `xapp-1-A0-123-${hex(40)}`],
  ["Slack webhook", `https://hooks.slack.com/services/T000/B000/${word(24)}`],
  ["Stripe", `sk_live_${word(24)}`],
  ["Stripe restricted", `rk_live_${word(24)}`],
  ["AWS", `AKIA${upper(16)}`],
  ["AWS, temporary", `ASIA${upper(16)}`],
  ["Google API", `AIza${word(35)}`],
  ["Google OAuth", `ya29.${word(60)}`],
  ["OpenAI", `sk-${word(48)}`],
  ["OpenAI project", `sk-proj-${word(48)}`],
  ["Anthropic", `sk-ant-api03-${word(93)}`],
  ["npm", `npm_${word(36)}`],
  ["PyPI", `pypi-${word(90)}`],
  ["Hugging Face", `hf_${word(34)}`],
  ["JWT", `eyJ${word(20)}.eyJ${word(30)}.${word(43)}`],
  ["Basic", `Basic  ${Buffer.from("ann:x1y2z3").toString("base64")}`],
  ["Bearer", `Bearer  ${word(20)}`],
  ["password in a URL", `https://ann:${word(20)}@h/`],
  ["password alone in a URL", `redis://:${word(20)}@h/`],
  ["Postgres", `postgres://ann:${word(12)}@db/x`],
  ["MongoDB", `mongodb+srv://ann:${word(12)}@db/x`],
  ["Azure storage", `DefaultEndpointsProtocol=https;AccountName=x;AccountKey=${word(86)}==`],
  ["Azure signature", `https://x.blob.core.windows.net/?sv=1&sig=${word(40)}%3D`],
  ["SendGrid", `SG.${word(22)}.${word(43)}`],
  ["Twilio", `SK${hex(32)}`],
  ["Twilio account", `AC${hex(32)}`],
  ["Telegram", `123456789:AA${word(33)}`],
  ["Discord", `M${word(23)}.G1abcd.${word(38)}`],
  ["Databricks", `dapi${hex(32)}`],
  ["DigitalOcean", `dop_v1_${hex(64)}`],
  ["Doppler", `dp.pt.${word(43)}`],
  ["Linear", `lin_api_${word(40)}`],
  ["Notion", `ntn_${word(46)}`],
  ["Notion, old", `secret_${word(43)}`],
  ["Supabase", `sbp_${hex(40)}`],
  ["Vault", `hvs.${word(90)}`],
  ["Terraform", `${word(14)}.atlasv1.${word(60)}`],
  ["Shopify", `shpat_${hex(32)}`],
  ["Square", `sq0atp-${word(22)}`],
  ["Square access", `EAAA${word(60)}`],
  ["Mailgun", `key-${hex(32)}`],
  ["New Relic", `NRAK-${upper(27)}`],
  ["Grafana", `glsa_${word(32)}_${hex(8)}`],
  ["Sentry", `sntrys_${word(60)}`],
  ["Postman", `PMAK-${hex(24)}-${hex(34)}`],
  ["Airtable", `pat${word(14)}.${hex(64)}`],
  ["Fly", `fo1_${word(43)}`],
  ["Heroku", `HRKU-${word(36)}`],
  ["age", `AGE-SECRET-KEY-1${upper(58)}`],
  ["PEM", `-----BEGIN RSA PRIVATE KEY-----\n${word(64)}\n${word(64)}\n-----END RSA PRIVATE KEY-----`],
  ["PEM in JSON", `-----BEGIN PRIVATE KEY-----\\n${word(64)}\\n-----END PRIVATE KEY-----`],
  ["Datadog, by its name", `DD_API_KEY=${hex(32)}`],
  ["Cloudflare, by its name", `CLOUDFLARE_API_TOKEN: ${word(40)}`],
  ["AWS secret, by its name", `aws_secret_access_key = ${word(18)}/${word(21)}`],
];

describe("a probable secret is redacted", () => {
  test.each(FORMATS)("%s", (_, secret) => {
    const redactor = new Redactor();
    const kept = /[\w+/%=.-]{12,}$/.exec(secret)?.[0].slice(-12) ?? secret.slice(-12);
    for (const text of [
      secret,
      `it is ${secret} there`,
      `"${secret}"`,
      JSON.stringify({ a: `x ${secret}` }),
      `\\n${secret}`,
    ]) {
      const shown = redactor.text(text);
      expect(shown).toContain("[redacted]");
      if (!secret.startsWith("-----")) expect(shown).not.toContain(kept);
      expect(shown).not.toContain(word(20));
    }
  });

  test.each([
    ["API_KEY=k", "API_KEY=k"],
    ["API_KEY=abc123", "API_KEY=[redacted]"],
    ['{"password":"hunter"}', '{"password":"[redacted]"}'],
    ['{\\"client_secret\\":\\"a b c\\"}', '{\\"client_secret\\":\\"[redacted]\\"}'],
    ["--token abc123x --verbose", "--token [redacted] --verbose"],
    ["x-api-key: 9999-aaaa", "x-api-key: [redacted]"],
    ["https://h/x?access_token=zz99&page=2", "https://h/x?access_token=[redacted]&page=2"],
    ["Set-Cookie: sid=8f7e6d; Path=/", "Set-Cookie: [redacted]; Path=/"],
  ])("after a name: %s", (text, shown) => {
    expect(new Redactor().text(text)).toBe(shown);
  });

  test.each([
    "error: token: not found",
    "password: expired",
    "the secret is missing",
    "tokens=15 sessions=3 level=info",
    "files__read_file took 12 ms",
    "GET http://127.0.0.1:8080/mcp?page=2",
    "Unexpected token < in JSON at position 0",
    "sk-1",
  ])("and what says nothing stays: %s", (text) => {
    expect(new Redactor().text(text)).toBe(text);
  });

  test("in steps linear in the text, whatever it repeats", () => {
    const redactor = redactorOf("a".repeat(40), SECRET, LINES);
    const parts = [
      "eyJ-",
      "-----BEGIN PRIVATE KEY-----",
      "sk-",
      "a:b@",
      "://a:b",
      '"password":"',
      "password=",
      "--a ",
    ];
    for (const part of [...parts, "Bearer ", "s.", "%3D", "aaaa", "…", "\\", "'", "token: "]) {
      const steps = stepsOf(() => redactor.text(part.repeat(200_000 / part.length)));
      expect([part, steps < 10 * 200_000]).toEqual([part, true]);
    }
  });
});

test("fields are taken out by their names, and counts stay", () => {
  const fields = {
    apiKey: "x",
    DB_PASSWORD: "y",
    cookie: ["a"],
    clientSecret: { a: 1 },
    accessToken: "z",
    sessions: 3,
    tokens: 15,
    progressToken: 7,
    auth: "keys",
    server: "files",
  };
  expect(new Redactor().fields(fields)).toEqual({
    ...fields,
    apiKey: "[redacted]",
    DB_PASSWORD: "[redacted]",
    cookie: "[redacted]",
    clientSecret: "[redacted]",
    accessToken: "[redacted]",
  });
});
