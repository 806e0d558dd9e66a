/**
 * `npm run bench`: every goal of Cardea's own (P1 … P11) against the pass-through in the same run; medians of twelve
 * rounds, written to results.md. `--quick` takes a minute, writes nothing, and fails below the floors.
 * `--only P1,P7` runs what measures these. `--against REV` compares two builds (against.mjs).
 */
import { parseArgs } from "node:util";
import { build } from "../scripts/build.mjs";
import { against } from "./against.mjs";
import { asTable, inOneLine, within } from "./goals.mjs";
import { createMeasure } from "./measure.mjs";
import { stopAll } from "./processes.mjs";
import { circumstances, conditions, writeSection } from "./results.mjs";
import { calls, stdioCalls } from "./work/calls.mjs";
import { lists } from "./work/lists.mjs";
import { memory } from "./work/memory.mjs";
import { questions } from "./work/questions.mjs";
import { workers } from "./work/workers.mjs";

const WORK = [
  { goals: ["P1", "P2", "P4", "P5", "P6"], run: calls },
  { goals: ["P3"], run: stdioCalls },
  { goals: ["P7", "P8"], run: lists },
  { goals: ["P9"], run: memory },
  { goals: ["P10"], run: questions, slow: true },
  { goals: ["workers"], run: workers, slow: true },
];

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    against: { type: "string" },
    sets: { type: "string", default: "4" },
    write: { type: "boolean", default: false },
  },
});
const { quick } = values;
const only = values.only?.split(",");
const measure = createMeasure(
  quick
    ? { roundSeconds: 0.25, rounds: 7, again: 0, seconds: 0.5, warmSeconds: 0.25 }
    : { roundSeconds: 0.5, rounds: 12, again: 60, seconds: 2, warmSeconds: 0.5 },
);

const wanted = WORK.filter(({ goals, slow = false }) =>
  only === undefined ? !(quick && slow) : goals.some((goal) => only.includes(goal)),
);

async function rowsOf({ run }) {
  const rows = [];
  for await (const row of run({ measure, quick })) {
    rows.push(row);
    console.log(inOneLine(row));
  }
  return rows;
}

build();
if (values.against !== undefined) {
  const rounds = createMeasure({ roundSeconds: 0.4, rounds: 6, again: 20, seconds: 1, warmSeconds: 0.3 });
  const { sets, write } = values;
  await against(values.against, { measure: rounds, sets: Number(sets), only, write }).finally(stopAll);
  process.exit(0);
}
const rows = [];
try {
  for (const work of wanted) {
    let found = await rowsOf(work);
    if (quick && found.some(({ aboveFloor }) => !aboveFloor)) {
      console.log("     below a floor: measured once more, in case it was not Cardea");
      found = await rowsOf(work);
    }
    rows.push(...found);
  }
} finally {
  await stopAll();
}
const { errors, firstError } = measure.notes;
const all = [{ value: errors, goal: 0, floor: 0, digits: 0 }];
rows.push(within("P11", "answers that were wrong or missing in all of this", all, firstError));
console.log(inOneLine(rows.at(-1)));
if (firstError !== undefined) console.error(`the first error: ${firstError}`);
const state = conditions(measure.notes);
console.log(state);

if (!quick && only === undefined) {
  const head = `${circumstances("npm run bench")}; medians of 12 rounds of 0.5 s, P1 to P3 with three processes of each. ${state}`;
  writeSection("bench", "Cardea's goals", `${head}\n\n${asTable(rows)}`);
}
if (quick && rows.some(({ aboveFloor }) => !aboveFloor)) process.exitCode = 1;
