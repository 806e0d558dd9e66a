/** Asks a worker for one of its admin pages. */
import { request } from "node:http";

export interface AdminPage {
  readonly status: number;
  readonly text: string;
}

/** Longer than any page takes, in ms. */
const TIMEOUT_MS = 5_000;

/** @throws Error when the worker is not there, or does not answer in time. */
export function fetchAdminPage(socketPath: string, path: string): Promise<AdminPage> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, headers: { host: "localhost" } }, (answer) => {
      const chunks: string[] = [];
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => chunks.push(chunk));
      answer.once("end", () => resolve({ status: answer.statusCode ?? 0, text: chunks.join("") }));
      answer.once("error", reject);
    });
    asked.once("error", reject);
    asked.setTimeout(TIMEOUT_MS, () => asked.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    asked.end();
  });
}
