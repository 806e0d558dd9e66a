/** Follows server-sent events of a running gateway. */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { GatewayError } from "../core/errors.js";
import type { Address } from "./gateway-client.js";

/** Limit (characters) of an incomplete event. */
const MAX_EVENT_LENGTH = 1024 * 1024;

/**
 * Calls `listener` with each event of the page at `path` (after `/api/v1/`), until the gateway or `signal` ends it.
 *
 * @throws GatewayError if there is no such stream
 */
export function followEvents(
  { adminUrl, token }: Address,
  path: string,
  signal: AbortSignal,
  listener: (name: string, data: string) => void,
): Promise<void> {
  const url = new URL(`/api/v1/${path}`, adminUrl);
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const failed = (code: "unauthenticated" | "upstream_unavailable", message: string): void => {
      if (signal.aborted) resolve();
      else reject(new GatewayError(code, "gateway", message));
    };
    const sent = request(url, { headers, signal }, (response) => {
      if (response.statusCode !== 200) {
        response.resume();
        const isSecret = response.statusCode === 401;
        const why = isSecret ? "wants the token of its admin listener" : `answers ${response.statusCode}`;
        failed(isSecret ? "unauthenticated" : "upstream_unavailable", `the gateway at ${adminUrl} ${why}`);
        return;
      }
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        const events = (text + chunk).split("\n\n");
        text = events.pop() ?? "";
        if (text.length > MAX_EVENT_LENGTH) sent.destroy();
        for (const event of events) {
          const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
          if (name !== undefined && data !== undefined) listener(name, data);
        }
      });
      // A cut connection and an ended stream are the same here: the gateway has stopped.
      response.once("error", () => resolve());
      response.once("close", () => resolve());
    });
    sent.once("error", (error) =>
      failed("upstream_unavailable", `no gateway answers at ${adminUrl}: ${error.message}`),
    );
    sent.end();
  });
}
