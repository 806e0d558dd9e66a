#!/usr/bin/env node
/**
 * The client that the suite's scenarios of authorization look at: the built gateway. A host calls tools through it, and a
 * person without a browser follows each page that a call names.
 *
 *   node auth-driver.mjs URL
 *
 * The suite says in the environment which scenario it is. Exits with 0 also where the gateway refuses to sign in.
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { signInAt } from "./person.mjs";
import { startGateway } from "./stage.mjs";

const [url] = process.argv.slice(2);
const scenario = (process.env.MCP_CONFORMANCE_SCENARIO ?? "").replace(/^auth\//, "");
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

/** What an operator would write for the server; where nothing is said here, its URL is all. */
const AUTH = {
  "basic-cimd": () => ({ clientMetadataUrl: "https://conformance-test.local/client-metadata.json" }),
  "pre-registration": () => ({ clientId: context.client_id, clientSecret: context.client_secret }),
  "client-credentials-basic": () => ({
    type: "client_credentials",
    clientId: context.client_id,
    clientSecret: context.client_secret,
  }),
  "client-credentials-jwt": () => ({
    type: "private_key_jwt",
    clientId: context.client_id,
    privateKey: context.private_key_pem,
  }),
};

/** More pages than any server should need: the gateway has to say by itself when it is enough. */
const MOST_PAGES = 8;
const LIST_MS = 5_000;

/** What the page says where a server names another issuer than the pinned one. */
const ACCEPT_ISSUER = /cardea login suite --accept-issuer/;

/** An operator accepts the issuer that the server names now, and the person signs in there. */
async function acceptIssuer() {
  const command = gateway.command("login", "suite", "--accept-issuer", "--no-browser");
  const [page] = await command.says(/https?:\S+/);
  await fetch(page);
  await command.exited;
  console.error(command.stderr());
}

/** Calls until the answer names no page, which the person follows. Resolves to whether the last page ended well. */
async function call(client, name) {
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const result = await client
      .callTool({ name, arguments: {} })
      .catch((error) => ({ error: error.message }));
    console.error(name, JSON.stringify(result).slice(0, 400));
    const page = result._meta?.["cardea/sign-in"]?.url;
    if (page === undefined) return true;
    const end = await signInAt(page);
    console.error(`the page ends with ${end.status}: ${end.sentence}`);
    if (ACCEPT_ISSUER.test(end.sentence)) await acceptIssuer();
    else if (end.status !== 200) return false;
  }
  return true;
}

/** The tools, once the server has shown them to who has signed in. */
async function toolsOf(client) {
  const end = Date.now() + LIST_MS;
  for (;;) {
    const { tools } = await client.listTools();
    if (tools.length > 0 || Date.now() > end) return tools;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function play(endpoint) {
  const client = new Client({ name: "cardea-conformance-host", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint)));
  try {
    // Nothing is known of the server's tools before the sign-in.
    if (!(await call(client, "suite__any"))) return;
    const tools = await toolsOf(client);
    for (const { name } of tools) await call(client, name);
    if (scenario === "authorization-server-migration") for (const { name } of tools) await call(client, name);
  } finally {
    await client.close();
  }
}

const auth = AUTH[scenario]?.();
const gateway = await startGateway({ url, prefix: "suite", ...(auth && { auth }) }, { others: false });
try {
  await play(gateway.url);
} finally {
  await gateway.stop();
  console.error(gateway.stderr());
}
