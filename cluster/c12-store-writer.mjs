/** C12: an attacker writes the store for a minute, under load: it obtains and forges nothing. */
import { createHash } from "node:crypto";
import { pause, row } from "../faults/support/row.mjs";
import { newAgent, openHost, textOf } from "../test/support/host/host.mjs";
import { checkLedger } from "./support/checks.mjs";
import { startCluster } from "./support/cluster.mjs";
import { startLoad, words } from "./support/load.mjs";
import { FORGED, startWriter } from "./support/store-writer.mjs";

/** The key of every host; an attacker that receives it has a credential. */
const CREDENTIAL = "cardea-key-of-the-hosts-of-c12";
const headers = { authorization: `Bearer ${CREDENTIAL}` };
const ACCEPT = { action: "accept", content: {} };
const capabilities = { elicitation: { form: {} } };

const CONFIG = {
  auth: { keys: [{ id: "host", hash: `sha256:${createHash("sha256").update(CREDENTIAL).digest("hex")}` }] },
  policy: {
    rules: [
      {
        name: "remembered",
        tools: ["new__run"],
        when: "args.key.startsWith('remembered')",
        effect: "approve",
        remember: "1h",
      },
      { name: "once", tools: ["new__run"], when: "args.key.startsWith('once')", effect: "approve" },
    ],
  },
};

await row("C12", "an attacker writes the store for a minute, under load of hosts", async (row) => {
  const cluster = await startCluster(row, { config: CONFIG });
  const { replicas, redis } = cluster;
  const urls = replicas.map(({ url }) => url);
  const agent = newAgent({ timeout: 4_000 });
  row.own({ stop: async () => agent.destroy() });
  const modern = await Promise.all(
    urls.map((url) => openHost(url, "modern", { agent, capabilities, headers })),
  );
  const call = (at, key, more = {}) =>
    modern[at].exchange("tools/call", { name: "new__run", arguments: { key }, ...more });
  const asked = async (at, key) => (await call(at, key)).message?.result ?? {};
  const answered = (at, key, { inputRequests = {}, requestState }) => {
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((name) => [name, ACCEPT]));
    return call(at, key, { inputResponses, requestState });
  };
  const load = row.own(await startLoad(cluster.url, { headers, sdk: false, follows: false }));
  await pause(2_000);
  const peers = replicas.map(({ peers: url }) => url);
  const writer = row.own(await startWriter(redis, peers));
  const end = performance.now() + (row.quick ? 10_000 : 60_000);
  const seen = { ended: 0, served: 0, revoked: 0, unasked: 0, used: 0, again: 0 };

  for (let n = 0; n < 3 || performance.now() < end; n += 1) {
    await replayEnded(n % 3);
    await replayRevoked(n, n % 3);
    await replayUsed(n, n % 3);
    await pause(300);
  }
  const attacked = await load.window();
  row.note(
    `${writer.writes} writes, ${writer.heard.connections} connections of replicas to the attacker; meanwhile ${attacked.failed.length} of ${attacked.sent} calls were refused: ${words(attacked.errors)}`,
  );
  await writer.end();
  await pause(12_000);
  await load.window();
  await pause(3_000);
  const later = await load.window();
  row.note(`12 s later ${later.failed.length} of ${later.sent} calls were refused: ${words(later.errors)}`);
  const tally = await load.finish();
  const texts = writer.heard.texts.join("\n");
  const obtained = (what, pattern, text = texts) => {
    const found = [...text.matchAll(pattern)].length;
    row.check(`${what} that the attacker heard`, 0, found, found === 0);
  };
  obtained("credentials of hosts", new RegExp(`${CREDENTIAL}|authorization:`, "gi"));
  obtained(
    "requests of hosts, with or without a principal",
    /tools\/call|mcp-session-id|principal|POST \/mcp/gi,
  );
  obtained(
    "proofs of the true replicas, for its own addresses",
    /cardea-peer: 2\.proof\./gi,
    writer.heard.relayed.join("\n"),
  );
  const forged = tally.samples.filter((one) => `${one.error} ${one.detail}`.includes(FORGED)).length;
  row.check("forged answers that reached a host", 0, `${forged} of ${tally.sent}`, forged === 0);
  row.check(
    "requests of ended sessions, whose records were written again, that were served",
    0,
    `${seen.served} of ${seen.ended}`,
    seen.served === 0 && seen.ended > 0,
  );
  row.check(
    "calls that ran unasked after their remembered approval was revoked",
    0,
    `${seen.unasked} of ${seen.revoked}`,
    seen.unasked === 0 && seen.revoked > 0,
  );
  row.check(
    "approvals that were used again after the store had lost their use",
    0,
    `${seen.again} of ${seen.used}`,
    seen.again === 0 && seen.used > 0,
  );
  await checkLedger(row, cluster.ledger, tally);

  /** A session ends, its record is written again, and its host tries it at every replica. */
  async function replayEnded(at) {
    const host = await openHost(urls[at], "legacy", { agent, headers }).catch(() => undefined);
    if (host?.session === undefined) return;
    const about = host.headersOf("tools/list");
    await pause(200);
    const ended = await fetch(urls[at], { method: "DELETE", headers: about });
    await ended.arrayBuffer();
    if (!ended.ok) return;
    await pause(200);
    await writer.again(host.session);
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    for (const url of urls) {
      const response = await fetch(url, { method: "POST", headers: about, body });
      await response.arrayBuffer();
      seen.ended += 1;
      if (response.ok) seen.served += 1;
    }
  }

  /** An approval is remembered, and revoked; all that was in the store is written again. */
  async function replayRevoked(n, at) {
    const key = `remembered-${n}`;
    const question = await asked(at, key);
    if (question.resultType !== "input_required") return;
    if (textOf((await answered(at, key, question)).message)?.startsWith(key) !== true) return;
    const approvals = await replicas[at].json("/api/v1/approvals");
    const results = await Promise.all(
      approvals.map(({ id }) => replicas[at].act(`/api/v1/approvals/${id}/revoke`)),
    );
    if (results.length === 0 || results.some((status) => status >= 300)) return;
    await writer.again("approval");
    for (const other of [0, 1, 2]) {
      seen.revoked += 1;
      if ((await asked(other, key)).resultType !== "input_required") seen.unasked += 1;
    }
  }

  /** An approval is used, the store loses that, and its state is sent again. */
  async function replayUsed(n, at) {
    const key = `once-${n}`;
    const question = await asked(at, key);
    if (question.resultType !== "input_required") return;
    if (textOf((await answered(at, key, question)).message)?.startsWith(key) !== true) return;
    for (const other of [0, 1, 2]) {
      await writer.delete("cardea:once:*");
      const { message } = await answered(other, key, question);
      seen.used += 1;
      if (textOf(message)?.startsWith(key) === true) seen.again += 1;
    }
  }
});
