/** Asks a worker for one of its admin pages. */
import { request } from "node:http";

export interface Page {
  readonly status: number;
  readonly text: string;
}

/** Longer than any page takes, in ms. */
const PATIENCE_MS = 5_000;

/** @throws Error when the worker is not there, or does not answer in time. */
export function ask(socketPath: string, path: string): Promise<Page> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, headers: { host: "localhost" } }, (answer) => {
      const chunks: string[] = [];
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => chunks.push(chunk));
      answer.once("end", () => resolve({ status: answer.statusCode ?? 0, text: chunks.join("") }));
      answer.once("error", reject);
    });
    asked.once("error", reject);
    asked.setTimeout(PATIENCE_MS, () => asked.destroy(new Error(`no answer within ${PATIENCE_MS} ms`)));
    asked.end();
  });
}
