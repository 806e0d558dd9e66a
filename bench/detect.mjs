/**
 * `node bench/detect.mjs`: what each kind of `policy.redact` `detect` costs for 1 KiB of text: words, JSON, source, and texts that
 * are full of beginnings. Exits non-zero above 100 us for words with all kinds.
 */
import { readFileSync } from "node:fs";
import { build } from "../scripts/build.mjs";

build();
const { detectedSpans } = await import("../build/features/policy/detect/detected-spans.js");
const { DETECTED_KINDS } = await import("../build/features/policy/detect/detector.js");
const { runAtOnce, Work } = await import("../build/runtime/cooperative-yield.js");

const KIB = 64;
const filled = (text) => text.repeat(Math.ceil((KIB * 1024) / text.length)).slice(0, KIB * 1024);
const texts = {
  words: filled(readFileSync("ARCHITECTURE.md", "utf8")),
  JSON: filled(
    JSON.stringify({ id: 4711, name: "a row", at: "2026-11-28T21:18:00Z", tags: ["a", "b"], size: 1.5 }),
  ),
  source: filled(readFileSync("src/features/policy/redaction/messages.ts", "utf8")),
  "beginnings of web tokens": filled("eyJ-eyJ_"),
  "beginnings of addresses": filled("a@a.a@"),
  "key words": filled("key=token:"),
  "beginnings of private keys": filled("-----BEGIN PRIVATE KEY-----"),
  digits: filled("4111 "),
  signs: filled("+1 "),
};

/** Microseconds for 1 KiB. */
function cost(text, kinds) {
  const run = () => {
    const steps = detectedSpans(text, kinds, new Work());
    return runAtOnce(steps) ?? [...steps];
  };
  for (let at = 0; at < 10; at += 1) run();
  const times = [];
  for (let at = 0; at < 30; at += 1) {
    const start = performance.now();
    run();
    times.push(((performance.now() - start) * 1000) / KIB);
  }
  return times.sort((a, b) => a - b)[15];
}

const columns = [...DETECTED_KINDS.map((kind) => [kind]), DETECTED_KINDS];
console.log(`us for 1 KiB | ${columns.map((kinds) => (kinds.length === 1 ? kinds[0] : "all")).join(" | ")}`);
for (const [name, text] of Object.entries(texts)) {
  const costs = columns.map((kinds) => cost(text, kinds));
  console.log(`${name} | ${costs.map((us) => us.toFixed(1)).join(" | ")}`);
  if (name === "words" && costs.at(-1) > 100) process.exitCode = 1;
}
