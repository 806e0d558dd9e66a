/** Servers over HTTP with scripted behaviour; the script that starts one may intercept each request. */
import { serveHttp, serveSse } from "../../test/support/server/http.mjs";
import { createServer } from "./behaviour.mjs";

/** @param options those of `createServer` and of `serveHttp` */
export async function httpUpstream(options = {}) {
  const answer = createServer(options);
  return Object.assign(await serveHttp(answer, options), { answer, ledger: answer.ledger });
}

/** A legacy server over HTTP+SSE of 2024-11-05. */
export const sseUpstream = () => serveSse(createServer({ era: "legacy" }));
