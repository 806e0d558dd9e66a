/**
 * `node bench/own-secrets.mjs`: what taking out secrets of the config costs for a result of 1, 10 and 100 KiB in which there is none, as text
 * and as an object, by the number of secrets.
 */
import { randomBytes } from "node:crypto";
import { build } from "../scripts/build.mjs";

if (!process.argv.includes("--built")) build();
const { nowOrInSteps, Work } = await import("../build/runtime/cooperative-yield.js");
const { SecretValues } = await import("../build/features/own-secrets/secret-values.js");
const { Payload } = await import("../build/wire/payload.js");

/** Microseconds, the median of 200. */
function median(run) {
  for (let at = 0; at < 200; at += 1) run();
  const times = [];
  for (let at = 0; at < 200; at += 1) {
    const start = performance.now();
    run();
    times.push((performance.now() - start) * 1000);
  }
  return times.sort((a, b) => a - b)[100];
}

const row = { id: 4711, name: "a row of the table", at: "2026-11-28T21:18:00Z", note: "café" };
console.log("result | secrets | us as text | us as an object");
for (const kib of [1, 10, 100]) {
  const rows = Array.from({ length: (kib * 1024) / JSON.stringify(row).length }, () => row);
  const object = { content: rows.map((each) => ({ type: "text", text: JSON.stringify(each) })) };
  const text = JSON.stringify(object);
  for (const count of [1, 5, 20, 100]) {
    const values = new SecretValues();
    for (let at = 0; at < count; at += 1) values.add(randomBytes(20).toString("hex"), `server-${at}`);
    const asText = median(() => void nowOrInSteps(values.mayBeIn(Payload.ofText(text), new Work())));
    const asObject = median(() => values.json(object));
    console.log(`${kib} KiB | ${count} | ${asText.toFixed(1)} | ${asObject.toFixed(1)}`);
  }
}
