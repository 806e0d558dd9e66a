/**
 * `node bench/strip.mjs`: what taking invisible text out (`trust.strip`) costs for 1 KiB of a result: without any, in words of several
 * scripts, and full of it. Exits non-zero above 5 us for rows of a table without any.
 */
import { build } from "../scripts/build.mjs";

build();
const { mayHaveInvisible, visibleResult } = await import("../build/features/strip/visible-results.js");
const { nowOrInSteps, Work } = await import("../build/runtime/cooperative-yield.js");
const { Payload } = await import("../build/wire/payload.js");

const ROUNDS = 200;

/** Microseconds for 1 KiB, the median. */
async function cost(object, bytes) {
  const text = JSON.stringify(object);
  // Short results are texts, long ones bytes.
  const kept = bytes ? Buffer.from(text) : text;
  const times = [];
  for (let at = 0; at < 2 * ROUNDS; at += 1) {
    const payload = Payload.ofText(kept);
    const start = performance.now();
    if (mayHaveInvisible(payload)) await nowOrInSteps(visibleResult(object, new Work()));
    if (at >= ROUNDS) times.push(((performance.now() - start) * 1000 * 1024) / Buffer.byteLength(text));
  }
  return times.sort((a, b) => a - b)[ROUNDS / 2];
}

const row = { id: 4711, name: "a row of the table", at: "2026-11-28T21:18:00Z", note: "cafe" };
const texts = {
  "rows of a table": JSON.stringify(row),
  "words with accents": "où est le café déjà fermé à l’été ? ",
  "Persian with joiners": "می‌خواهم کتاب‌ها را ببینم ",
  emoji: "done ✔️ 👩‍💻 ",
  "colours of a terminal": "\u001b[32mok\u001b[0m test passes\n",
  "nothing but zero width": "\u200B\u200D",
};
console.log("us for 1 KiB | 1 KiB | 100 KiB");
for (const [name, text] of Object.entries(texts)) {
  const costs = [];
  for (const kib of [1, 100]) {
    const count = Math.ceil((kib * 1024) / (text.length * 10));
    const object = {
      content: Array.from({ length: count }, () => ({ type: "text", text: text.repeat(10) })),
    };
    costs.push(await cost(object, kib > 4));
  }
  console.log(`${name} | ${costs.map((us) => us.toFixed(2)).join(" | ")}`);
  if (name === "rows of a table" && costs[0] > 5) process.exitCode = 1;
}
const wide = { structuredContent: { rows: Array.from({ length: 200 }, () => row) } };
console.log(
  `200 rows as objects | ${(await cost(wide, false)).toFixed(2)} | ${(await cost(wide, true)).toFixed(2)}`,
);
