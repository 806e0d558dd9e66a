// A stdio server that misbehaves on demand: the method of a request selects how.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const answer = (id, result = {}) => send({ id, result });

const held = [];
const methods = {
  echo: (id, params) => answer(id, params),
  hang: () => {},
  env: (id) => answer(id, { env: process.env, cwd: process.cwd(), argv: process.argv.slice(2) }),
  exit(_id, { code = 0, words }) {
    if (words !== undefined) process.stderr.write(words);
    process.exitCode = code;
    process.stdin.destroy();
  },
  /** Answers `count` requests together, the last first. */
  hold(id, { count }) {
    held.push(id);
    if (held.length === count) for (const one of held.splice(0).reverse()) answer(one, { id: one });
  },
  /** Writes `text` as it is, then answers. */
  raw(id, { text, encoding = "utf8" }) {
    process.stdout.write(Buffer.from(text, encoding));
    answer(id, { after: "raw" });
  },
  /** Writes `bytes` bytes in one piece, in one line that does not end before them. */
  async giant(id, { bytes, then = "" }) {
    const piece = Buffer.alloc(65_536, 0x78);
    for (let left = bytes; left > 0; left -= piece.length) {
      if (!process.stdout.write(piece.subarray(0, Math.min(left, piece.length)))) {
        await new Promise((resolve) => process.stdout.once("drain", resolve));
      }
    }
    process.stdout.write(then);
    answer(id);
  },
  stderr(id, { text, times = 1 }) {
    for (let i = 0; i < times; i++) process.stderr.write(text);
    answer(id);
  },
  twice(id) {
    answer(id, { time: 1 });
    answer(id, { time: 2 });
  },
  notify(id, { count = 1 }) {
    for (let i = 0; i < count; i++) send({ method: "notifications/message", params: { i } });
    send({ id, method: "roots/list" });
    answer(id);
  },
  batch(id) {
    process.stdout.write(
      `${JSON.stringify([
        { jsonrpc: "2.0", method: "notifications/message" },
        { jsonrpc: "2.0", id, result: { batch: true } },
      ])}\n`,
    );
  },
  deaf(id) {
    answer(id);
    process.stdin.pause();
  },
  stubborn(id) {
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 1_000);
    answer(id);
  },
  /** Starts a process that ignores the end of its input, and SIGTERM if configured so. */
  grandchild(id, { stubborn = false }) {
    const script = `${stubborn ? 'process.on("SIGTERM", () => {});' : ""} console.error("up"); setInterval(() => {}, 1000)`;
    const child = spawn(process.execPath, ["-e", script], { stdio: ["inherit", "inherit", "pipe"] });
    child.stderr.once("data", () => answer(id, { pid: child.pid }));
    child.unref();
    child.stderr.unref();
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  methods[method]?.(id, params);
});
