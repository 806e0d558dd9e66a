/** A host of the modern era that answers what its calls are asked. */

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "a-host", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
};

/** What a call has come to so far. */
interface Round {
  readonly resultType?: string;
  readonly inputRequests?: Readonly<Record<string, unknown>>;
  readonly requestState?: string;
}

/** A host of the gateway at `url`, without credentials. */
export const hostOf = (url: string) => ({
  /** Calls a tool; with `asked` again, where each question of it gets `answer`. @throws Error for a reply without a result */
  async call(name: string, asked?: Round, answer?: object, args: object = {}): Promise<Round> {
    const keys = Object.keys(asked?.inputRequests ?? {});
    const params = {
      name,
      arguments: args,
      _meta: META,
      ...(asked !== undefined && {
        inputResponses: Object.fromEntries(keys.map((key) => [key, answer])),
        requestState: asked.requestState,
      }),
    };
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    });
    const text = await response.text();
    const { result } = JSON.parse(text) as { readonly result?: Round };
    if (result === undefined) throw new Error(`no result: ${text}`);
    return result;
  },
});
