/** Takes the lock of each file on a line of stdin, and writes whether it has it; "release" releases it. */
import { createInterface } from "node:readline";
import { takeLock } from "../../../../build/features/audit/lock.js";

let release = async () => {};
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "release") {
    await release();
    console.log("released");
    continue;
  }
  try {
    release = await takeLock(line);
    console.log("held");
  } catch (error) {
    release = async () => {};
    console.log(`refused: ${error.message}`);
  }
}
