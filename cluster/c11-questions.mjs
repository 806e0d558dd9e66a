/** C11: a question is asked at one replica and answered at another, in all four pairs of eras. */
import { row } from "../faults/support/row.mjs";
import { newAgent, openHost, refusalOf, textOf } from "../test/support/host/host.mjs";
import { startCluster } from "./support/cluster.mjs";

const ANSWER = { action: "accept", content: { name: "ann" } };

/** A legacy host whose session is at the first replica sends its call there, and its answer to the second one. */
async function legacy(host, other, server, key) {
  const onMessage = (question) => {
    if (question.method !== "elicitation/create") return;
    const body = JSON.stringify({ jsonrpc: "2.0", id: question.id, result: ANSWER });
    fetch(other, { method: "POST", headers: host.headersOf("answer"), body }).then(
      ({ status }) => {
        host.answered = status;
      },
      (error) => {
        host.answered = error.message;
      },
    );
  };
  // Without the answer the call waits as long as a person may think.
  const signal = AbortSignal.timeout(10_000);
  try {
    return (await host.call(`${server}__ask`, { key }, { onMessage, signal })).message;
  } catch {
    return { error: { message: `no answer; the answer to the question got ${host.answered}` } };
  }
}

/** A modern host repeats its call with the answer at the second replica. */
async function modern(host, other, server, key) {
  const params = { name: `${server}__ask`, arguments: { key } };
  const { message } = await host.exchange("tools/call", params);
  const { inputRequests = {}, requestState } = message?.result ?? {};
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((name) => [name, ANSWER]));
  const second = await openHost(other, "modern", {
    agent: host.agent,
    capabilities: { elicitation: { form: {} } },
  });
  const again = { ...params, inputResponses, ...(requestState !== undefined && { requestState }) };
  return (await second.exchange("tools/call", again)).message;
}

await row("C11", "questions asked at one replica and answered at another", async (row) => {
  const cluster = await startCluster(row, { count: 2, balancer: false });
  const [first, second] = cluster.replicas.map(({ url }) => url);
  const agent = newAgent({ timeout: 4_000 });
  const capabilities = { elicitation: { form: {} } };
  for (const [era, ask] of Object.entries({ legacy, modern })) {
    for (const server of ["old", "new"]) {
      for (const [there, here, way] of [
        [first, second, "asked at the first"],
        [second, first, "asked at the second"],
      ]) {
        const host = await openHost(there, era, { agent, capabilities });
        const key = `${era}-${server}-${way}`;
        const message = await ask(host, here, server, key);
        const said = textOf(message);
        const figure = refusalOf(message)?.code ?? said ?? message?.error?.message;
        row.check(
          `${era} host, ${server === "old" ? "legacy" : "modern"} server, ${way}`,
          `${key} ann`,
          figure,
          said === `${key} ann`,
        );
      }
    }
  }
  const runs = await cluster.ledger.runs();
  const twice = [...runs.values()].filter((times) => times.length > 1).length;
  row.check("tools that ran twice", 0, `${twice} of ${runs.size}`, twice === 0 && runs.size === 8);
  agent.destroy();
});
