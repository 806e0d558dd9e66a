/** Calls that wait at a limit for their turn, as operators see them. */
import "../../admin/needed.js";
import { expect, onTestFinished, test } from "vitest";
import { HOSTS, openHost } from "../../../scenarios/host.js";
import { openStage } from "../../../scenarios/stage.js";
import { UPSTREAMS } from "../../../support/scripted/upstreams.js";
import { until } from "../../../support/until.js";

test("count in the metric of the queue, until they run", async () => {
  const kind = UPSTREAMS.find(({ key }) => key === "legacy-http");
  if (kind === undefined) throw new Error("there is no such server");
  const limits = [{ tools: ["*__take_back"], concurrency: 1, queue: 5, per: "server" }];
  const stage = await openStage([kind], { config: { limits } });
  onTestFinished(() => stage.close());
  const host = await openHost(stage, HOSTS.modernHttp, { capabilities: {} });
  onTestFinished(() => host.leave());
  const depth = () => stage.metric("cardea_queue_depth");
  const call = (tool: string, label: string) => host.call(`${kind.key}__${tool}`, { label }).outcome;

  expect(await depth()).toBe(0);
  const first = call("take_back", "a");
  await until("the first is inside", () =>
    stage
      .upstream(kind)
      .ledger()
      .some(({ label }) => label === "a"),
  );
  const others = [call("take_back", "b"), call("take_back", "c")];
  await until("two are in line", async () => (await depth()) === 2);
  for (const label of ["a", "b", "c"]) await call("let_go", label);
  await Promise.all([first, ...others]);
  expect(await depth()).toBe(0);
});
