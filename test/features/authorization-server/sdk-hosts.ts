/** Real hosts that know only the URL of the gateway, and sign their person in there: SDK 1.32, and SDK 2.4 in both eras. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished } from "vitest";
import { answerIn, Browser, REDIRECT } from "./support.js";

/** What a host keeps: an implementation of `OAuthClientProvider` of either SDK. */
export class HostState {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = { client_name: "SDK host", redirect_uris: [REDIRECT] };
  readonly kept = new Map<string, never>();
  opened: URL | undefined;

  readonly state = (): string => "state of the SDK";
  readonly clientInformation = () => this.kept.get("client");
  readonly saveClientInformation = (client: object): unknown => this.kept.set("client", client as never);
  readonly tokens = () => this.kept.get("tokens");
  readonly saveTokens = (tokens: object): unknown => this.kept.set("tokens", tokens as never);
  readonly codeVerifier = () => this.kept.get("verifier") ?? ("" as never);
  readonly saveCodeVerifier = (verifier: string): unknown => this.kept.set("verifier", verifier as never);
  readonly discoveryState = () => this.kept.get("discovery");
  readonly saveDiscoveryState = (state: object): unknown => this.kept.set("discovery", state as never);
  readonly redirectToAuthorization = (url: URL): void => {
    this.opened = url;
  };
}

export interface SdkHost {
  connect(): Promise<void>;
  finishAuth(parameters: URLSearchParams): Promise<void>;
  names(): Promise<readonly string[]>;
  /** The outcome of a call, or its error, as text. */
  call(name: string): Promise<string>;
}

const outcome = (calling: Promise<unknown>): Promise<string> =>
  calling.then(
    (result) => JSON.stringify(result),
    (error: unknown) => String(error),
  );

const INFO = { name: "cardea-test-host", version: "1.0.0" };

export function host1(url: URL, state: HostState): SdkHost {
  const transport = new Transport1(url, { authProvider: state as never });
  const client = new Client1(INFO);
  onTestFinished(() => client.close());
  return {
    connect: () => client.connect(transport as never),
    finishAuth: (parameters) => transport.finishAuth(parameters.get("code") ?? ""),
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name) => outcome(client.callTool({ name, arguments: {} })),
  };
}

export const host2 =
  (mode: "legacy" | "auto") =>
  (url: URL, state: HostState): SdkHost => {
    const transport = new StreamableHTTPClientTransport(url, { authProvider: state as never });
    const client = new Client(INFO, { versionNegotiation: { mode } });
    onTestFinished(() => client.close());
    return {
      connect: () => client.connect(transport),
      finishAuth: (parameters) => transport.finishAuth(parameters),
      names: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: (name) => outcome(client.callTool({ name, arguments: {} })),
    };
  };

/** A host of a new person: it is sent to the browser, and comes back signed in. */
export async function signedIn(make: (url: URL, state: HostState) => SdkHost, url: URL, person: string) {
  const state = new HostState();
  const first = make(url, state);
  await expect(first.connect()).rejects.toThrow();
  const page = await new Browser().signIn(String(state.opened), person);
  expect(answerIn(page).state).toBe("state of the SDK");
  await first.finishAuth(new URL(page.location ?? "").searchParams);
  const host = make(url, state);
  await host.connect();
  return { state, host };
}
