#!/usr/bin/env node
/**
 * A wire tap between a client and a server: passes everything on as it is and writes down each message.
 *
 *   node tap.mjs FILE -- COMMAND ARGS…      on a pipe; a line of JSON in FILE for each message
 *
 * Over HTTP see `tapHttp`.
 */
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import { createInterface } from "node:readline";
import { createParser } from "eventsource-parser";

let exchanges = 0;

/** Starts an HTTP proxy in front of `target` that records every message in both directions. */
export async function tapHttp(target, record) {
  const { hostname, port, pathname } = new URL(target);
  const server = createServer((request, response) => {
    exchanges += 1;
    const alone = `exchange ${exchanges}`;
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const headers = { ...request.headers, host: `${hostname}:${port}` };
      const upstream = httpRequest(
        { hostname, port, path: pathname, method: request.method, headers },
        (answer) => {
          const conversation = answer.headers["mcp-session-id"] ?? request.headers["mcp-session-id"] ?? alone;
          const note = (from) => (text) => {
            const message = parse(text);
            if (message !== undefined) record({ conversation, from, message });
          };
          note("client")(body.toString());
          hear(answer, note("server"));
          response.writeHead(answer.statusCode, answer.headers);
          response.flushHeaders();
          answer.pipe(response);
        },
      );
      upstream.on("error", () => response.destroy());
      response.on("close", () => upstream.destroy());
      upstream.end(body);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}${pathname}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Calls `note` with the text of each message in an HTTP answer: the events of a stream, or the whole body. */
function hear(answer, note) {
  const type = answer.headers["content-type"] ?? "";
  if (type.startsWith("text/event-stream")) {
    const parser = createParser({ onEvent: ({ data }) => note(data) });
    const decoder = new TextDecoder();
    answer.on("data", (chunk) => parser.feed(decoder.decode(chunk, { stream: true })));
  } else if (type.startsWith("application/json")) {
    const chunks = [];
    answer.on("data", (chunk) => chunks.push(chunk));
    answer.on("end", () => note(Buffer.concat(chunks).toString()));
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Runs a command and records what goes through its pipes. */
function tapPipe(file, command, args) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const conversation = `pipe ${process.pid}`;
  const note = (from) => (line) => {
    appendFileSync(
      file,
      `${JSON.stringify({ conversation, from, message: parse(line) ?? { junk: line } })}\n`,
    );
  };
  process.stdin.pipe(child.stdin);
  child.stdout.pipe(process.stdout);
  createInterface({ input: process.stdin }).on("line", note("client"));
  createInterface({ input: child.stdout }).on("line", note("server"));
  // Either side may end first; the other then sees the end of its pipe.
  child.stdin.on("error", () => {});
  process.stdout.on("error", () => {});
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => child.kill(signal));
  child.on("close", (code) => process.exit(code ?? 1));
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const [file, separator, command, ...args] = process.argv.slice(2);
  if (separator !== "--" || command === undefined) throw new Error("usage: tap.mjs FILE -- COMMAND ARGS…");
  tapPipe(file, command, args);
}
