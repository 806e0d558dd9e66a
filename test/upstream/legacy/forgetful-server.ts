/** A legacy server over HTTP whose sessions can be lost. */
import { type FakeServer, HttpFailure, legacyServer } from "../../support/fake-channel.js";

export const text = (words: string) => ({ content: [{ type: "text", text: words }] });

/** `forget` makes it lose its session; a call answers with the id of the session that it came in. */
export function forgetfulServer(): { readonly server: FakeServer; readonly forget: () => void } {
  const server = legacyServer();
  const initialize = server.methods.get("initialize");
  let last = 0;
  server.on("initialize", (params, asked) => {
    last += 1;
    server.responseHeaders = { "mcp-session-id": `s${last}` };
    return initialize?.(params, asked) ?? {};
  });
  const check = (headers: Readonly<Record<string, string>>): void => {
    if (headers["mcp-session-id"] !== `s${last}`) throw new HttpFailure(404, "Session not found");
  };
  server.on("tools/call", (_params, { headers }) => {
    check(headers);
    return text(String(headers["mcp-session-id"]));
  });
  for (const [method, result] of [["tools/list", { tools: [] }] as const, ["ping", {}] as const]) {
    server.on(method, (_params, { headers }) => {
      check(headers);
      return result;
    });
  }
  const forget = (): void => {
    last += 1;
  };
  return { server, forget };
}
