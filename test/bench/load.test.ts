/** Tests that the benchmark's load generator detects wrong and missing responses. */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { inRepository } from "../support/cardea.js";
import { sample } from "../support/sample.js";

function node(script: string, args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [inRepository(script), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill());
  return child;
}

/** The first line of a program's output that `pattern` matches. */
async function line(child: ChildProcess, pattern: RegExp): Promise<string> {
  if (child.stdout === null) throw new TypeError("the output goes nowhere");
  for await (const text of createInterface({ input: child.stdout })) if (pattern.test(text)) return text;
  throw new Error(`it ended without a line like ${pattern}`);
}

async function upstream(...flags: string[]): Promise<string> {
  const port = await line(node("bench/servers/http.mjs", flags), /^\d+$/);
  return `http://127.0.0.1:${port}/mcp`;
}

interface Result {
  readonly calls: number;
  readonly errors: number;
  readonly firstError?: string;
}

async function load(url: string, job: object): Promise<Result> {
  const brief = { url, sessions: 3, warmSeconds: 0.05, seconds: 0.2, ...job };
  const child = node("bench/load.mjs", [JSON.stringify(brief)]);
  child.stdin?.end("go\n");
  const result = await line(child, /^\{/);
  return JSON.parse(result) as Result;
}

const JOBS = [
  { work: "echo" },
  { work: "blob", tool: "blob", bytes: 100 },
  { work: "blob", tool: "blob", bytes: 100_000 },
  { work: "list" },
  { work: "ask", tool: "ask" },
];

test.each(sample("jobs", JOBS, 2))("a correct upstream passes the check: %o", async (job) => {
  const url = await upstream();
  for (const era of ["legacy", "modern"]) {
    const { calls, errors, firstError } = await load(url, { era, ...job });
    expect({ era, errors, firstError }).toEqual({ era, errors: 0, firstError: undefined });
    expect(calls).toBeGreaterThan(0);
  }
});

test.each(["legacy", "modern"])("a wrong response is detected, era %s", async (era) => {
  const { errors, firstError } = await load(await upstream("--lie", "2"), { era });
  expect(errors).toBeGreaterThan(0);
  expect(firstError).toContain("not what you said");
});

test("a wrong large response is detected without parsing it", async () => {
  const { errors, firstError } = await load(await upstream("--lie", "2"), {
    work: "blob",
    tool: "blob",
    bytes: 100_000,
  });
  expect(errors).toBeGreaterThan(0);
  expect(firstError).toContain("not what you said");
});

test("an unknown tool is an error, with the beginning of the response", async () => {
  const { errors, firstError } = await load(await upstream(), { era: "modern", work: "ask", tool: "echo" });
  expect(errors).toBeGreaterThan(0);
  expect(firstError).toContain("wrong answer");
});

test("a response to another session is detected", async () => {
  /** Holds one response back and sends it for the next request, under the right id. */
  let kept = "";
  const server = createServer((request, response) => {
    request.setEncoding("utf8").once("data", (body: string) => {
      const { id, params } = JSON.parse(body) as { id: number; params: { arguments: { text: string } } };
      const text = kept === "" ? params.arguments.text : kept;
      kept = params.arguments.text;
      const answer = JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
      response.writeHead(200, { "content-length": answer.length }).end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { errors, calls } = await load(`http://127.0.0.1:${port}/mcp`, { era: "modern" });
  expect(calls).toBeGreaterThan(0);
  expect(errors).toBeGreaterThan(0);
});

test("an upstream that closes the connection is an error of every session", async () => {
  const server = createServer((request) => void request.socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { errors, firstError } = await load(`http://127.0.0.1:${port}/mcp`, { era: "modern" });
  expect(errors).toBeGreaterThanOrEqual(3);
  expect(firstError).toMatch(/connection/);
});
