/** The numbers server on a pipe: `node stdio.mjs ERA NUMBERS…`. */
import { createInterface } from "node:readline";
import { numbersServer } from "./server.mjs";
import { readTagged, writeTagged } from "./tagged.mjs";

const [era, ...numbers] = process.argv.slice(2);
const tagged = numbers.map((number) => `#${number}`);
const receive = numbersServer(era, tagged, (message) => process.stdout.write(`${writeTagged(message)}\n`));
for await (const line of createInterface({ input: process.stdin })) void receive(readTagged(line));
