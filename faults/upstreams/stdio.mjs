/**
 * A server on a pipe with scripted behaviour.
 *
 * node stdio.mjs [--era legacy|modern|both] [--at-start die|hang] [--stubborn] [--start-ms N] [--note FILE] [--follow]
 *
 * `--stubborn`: ignores the end of its input, and SIGTERM. `--note`: adds a line for each start. `--follow`: its
 * resources can be followed.
 */
import { appendFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { serveStdio } from "../../test/support/server/http.mjs";
import { createServer } from "./behaviour.mjs";

const { values } = parseArgs({
  options: {
    era: { type: "string", default: "both" },
    "at-start": { type: "string" },
    stubborn: { type: "boolean" },
    "start-ms": { type: "string" },
    note: { type: "string" },
    follow: { type: "boolean" },
  },
});
if (values.note !== undefined) appendFileSync(values.note, `${Date.now()} ${process.pid}\n`);
if (values["at-start"] === "die") {
  process.stderr.write("no such luck\n");
  process.exit(7);
}
if (values["start-ms"] !== undefined) {
  // Work, as a real server has it when it starts, and not only waiting.
  const end = performance.now() + Number(values["start-ms"]);
  while (performance.now() < end) JSON.parse("[1,2,3]");
}

const server = createServer({
  era: values.era,
  ...(values.follow && { capabilities: { tools: {}, resources: { subscribe: true } } }),
});
/** Writes and waits until the pipe has room again. */
const write = (stream, bytes) =>
  new Promise((resolve) => {
    if (stream.write(bytes)) resolve();
    else stream.once("drain", resolve);
  });

const junk = {
  banner: () => write(process.stdout, "Welcome to the server!\n\x1b[31mred\x1b[0m\n\n"),
  nul: () => write(process.stdout, Buffer.from("\0\0\0 \0{\n")),
  utf8: () => write(process.stdout, Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x7b, 0x0a])),
  bom: () => write(process.stdout, "\ufeff"),
  async line({ bytes }) {
    const piece = Buffer.alloc(1_048_576, 0x78);
    for (let left = bytes; left > 0; left -= piece.length) await write(process.stdout, piece);
  },
  async stderr({ forMs, bytesPerSecond }) {
    const piece = Buffer.from(`${"e".repeat(1023)}\n`.repeat(1024));
    const begun = performance.now();
    for (let sent = 0; performance.now() - begun < forMs; ) {
      await write(process.stderr, piece);
      sent += piece.length;
      const ahead = (sent / bytesPerSecond) * 1000 - (performance.now() - begun);
      if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead));
    }
  },
};
server.tools.junk = async (args) => {
  await junk[args.kind](args);
  return args.kind;
};

if (values["at-start"] === "hang") process.stdin.resume();
else serveStdio(server);
if (values.stubborn) {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1_000);
} else process.stdin.on("end", () => process.exit(0));
