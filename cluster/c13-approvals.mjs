/**
 * C13: approvals by another person. Calls are held at one replica, which is killed; they are decided at another one, and continue at a
 * third. One expires that is open at two replicas.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { pause, row, until } from "../faults/support/row.mjs";
import { Host, newAgent, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startCluster } from "./support/cluster.mjs";

/** Longer than a call is held (55 s), with time for a second round. */
const BRIEF = "75s";

/** Approvals that a replica lists, by the key of the call. */
async function listed(replica) {
  const rows = await replica.json("/api/v1/approvals");
  return new Map(rows.map((each) => [each.arguments.key, each.id]));
}

const listing = async (replica, key) =>
  (await until(`the approval of ${key}`, async () => (await listed(replica)).get(key), 90_000, 100)).found;

/** A host of the official SDK, whose requests go to `place.url` at that time. */
async function openSdk(place) {
  const client = new Client(
    { name: "cardea-cluster-host", version: "1.0.0" },
    { capabilities: {}, versionNegotiation: { mode: "auto" } },
  );
  const to = async (_, init) => {
    if (typeof init?.body === "string" && init.body.includes('"requestState"')) await place.isContinued();
    return fetch(place.url, init);
  };
  await client.connect(new StreamableHTTPClientTransport(new URL(place.url), { fetch: to }));
  return client;
}

/** Lines of the audit logs about approvals, of all replicas. */
function audited(cluster, decision) {
  const lines = cluster.replicas.flatMap(({ file }) =>
    readFileSync(join(dirname(file), "audit.jsonl"), "utf8")
      .trim()
      .split("\n"),
  );
  return lines
    .map((line) => JSON.parse(line))
    .filter((one) => one.kind === "approval" && one.decision === decision);
}

await row(
  "C13",
  "calls that wait for another person, and the replica that holds them is killed",
  async (row) => {
    const rule = { effect: "approve", approvers: ["lee"] };
    const cluster = await startCluster(row, {
      balancer: false,
      config: (_, entries) => ({
        mcpServers: entries,
        audit: { file: "audit.jsonl" },
        policy: {
          rules: [
            { name: "two-eyes", tools: ["*__run"], ...rule },
            { name: "brief", tools: ["*__slow"], ...rule, approvalTimeout: BRIEF },
          ],
        },
      }),
    });
    const [first, second, third] = cluster.replicas;
    const agent = newAgent({ timeout: 120_000 });
    const send = (replica, name, args, state) => {
      const params = { name, arguments: args };
      const more = state === undefined ? {} : { inputResponses: {}, requestState: state };
      return new Host(replica.url, "modern", { agent }).send(1, "tools/call", { ...params, ...more });
    };
    const stateIn = (message) => message?.result?.requestState;

    // Held in their first round: at the replica that is killed, and one at another.
    let killed;
    const isKilled = new Promise((resolve) => {
      killed = resolve;
    });
    const place = {
      url: first.url,
      async isContinued() {
        await isKilled;
        place.url = second.url;
      },
    };
    const sdk = await openSdk(place);
    const bySdk = sdk.callTool({ name: "new__run", arguments: { key: "sdk" } });
    const byRaw = send(first, "old__run", { key: "raw" });
    const expiring = send(second, "new__slow", { key: "expires", ms: 1 });
    const ids = {
      sdk: await listing(third, "sdk"),
      raw: await listing(third, "raw"),
      expires: await listing(third, "expires"),
    };

    // Held in their second round.
    const state = stateIn(await byRaw);
    const lost = send(first, "old__run", { key: "raw" }, state).catch((error) => error);
    const expired = send(third, "new__slow", { key: "expires", ms: 1 }, stateIn(await expiring));
    const young = send(first, "new__run", { key: "young" }).catch((error) => error);
    await listing(third, "young");
    await pause(1_000);
    await first.kill();
    killed();
    row.check(
      "a call that is held while its replica is killed",
      "loses its connection",
      await lost,
      (await lost) instanceof Error,
    );
    row.check(
      "the same in its first round",
      "loses its connection",
      await young,
      (await young) instanceof Error,
    );
    const left = await listed(third);
    row.check(
      "the approval of a call without a state",
      "is gone with its replica",
      left.get("young") ?? "gone",
      !left.has("young"),
    );

    // They continue at the second one, and are decided at the third.
    const again = send(second, "old__run", { key: "raw" }, state);
    const anew = send(second, "new__run", { key: "young" });
    for (const key of ["sdk", "raw", "young"]) {
      const id = await listing(third, key);
      if (key !== "young")
        row.check(`${key}: listed at a third replica`, "under the id of before", id, id === ids[key]);
      row.check(`${key}: accepted there`, 200, ...is(await third.act(`/api/v1/approvals/${id}/accept`), 200));
    }
    const sdkSaid = (await bySdk).content?.[0]?.text;
    row.check("a host of SDK 2.4 continues at the second replica", "sdk", ...is(sdkSaid, "sdk"));
    row.check("a host that repeats its request with its state", "raw", ...is(textOf(await again), "raw"));
    row.check("a call that is made again", "young", ...is(textOf(await anew), "young"));
    const replayed = await send(third, "old__run", { key: "raw" }, state);
    row.check("the state once more", "state_rejected", ...is(refusalOf(replayed)?.code, "state_rejected"));

    row.check(
      "open at two replicas until its time is over",
      "expired",
      ...is(refusalOf(await expired)?.reason, "expired"),
    );
    await until(
      "both to know",
      async () => !(await listed(second)).has("expires") && !(await listed(third)).has("expires"),
    );
    const counted = await cluster.sum("cardea_approvals_total", { decision: "expired" });
    row.check("its expiry is counted", 1, ...is(counted, 1));
    row.check("lines of the audit logs about it", 1, ...is(audited(cluster, "expired").length, 1));
    row.check("lines about the accepted ones", 3, ...is(audited(cluster, "accepted").length, 3));

    const runs = await cluster.ledger.runs();
    const times = ["sdk", "raw", "young", "expires"].map((key) => runs.get(key)?.length ?? 0).join(", ");
    row.check("runs of the four", "1, 1, 1, 0", ...is(times, "1, 1, 1, 0"));
    await sdk.close();
    agent.destroy();
  },
);

function is(figure, wanted) {
  return [figure ?? "nothing", figure === wanted];
}
