/** `cardea call --as`: a call of another principal. */
import { expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../../src/cli/program.js";
import { gatewayOf } from "../support/gateway.js";
import { startUpstream, UPSTREAMS } from "../support/scripted/upstreams.js";
import { atHome } from "./at-home.js";
import { fakeShell } from "./fake-shell.js";

test("rules see the principal, its groups and its scopes", async () => {
  const kind = UPSTREAMS.find(({ key }) => key === "modern-http");
  if (kind === undefined) throw new Error("there is no scripted server");
  const upstream = await startUpstream(kind);
  onTestFinished(() => upstream.stop());
  const gateway = await gatewayOf({
    mcpServers: { one: upstream.entry },
    policy: {
      rules: [
        { name: "not-ann", principals: ["ann"], effect: "deny" },
        { name: "not-guests", groups: ["guests"], effect: "deny" },
      ],
    },
  });
  onTestFinished(() => gateway.stop({ immediate: true }));
  const call = async (as?: { as: string; groups?: readonly string[] }) => {
    const query = as === undefined ? undefined : { ...as, scopes: [] };
    const reply = await gateway.call("one__echo", { text: "here" }, undefined, query);
    return JSON.stringify(reply.kind === "result" ? reply.result.object : reply);
  };
  expect(await call()).toContain("here");
  expect(await call({ as: "bob" })).toContain("here");
  expect(await call({ as: "ann" })).toContain('"rule":"not-ann"');
  expect(await call({ as: "bob", groups: ["guests"] })).toContain('"rule":"not-guests"');
});

test("the command passes the principal on, and starts the servers itself", async () => {
  const asked: unknown[] = [];
  const home = atHome(
    {},
    {
      gateway: {
        call: async (name, args, _, as) => {
          asked.push([name, args, as]);
          return { kind: "error", error: { code: 1, message: "no" } };
        },
      },
    },
  );
  home.write("work/cardea.json", { mcpServers: { a: { command: "x" } } });
  await home.run("call", "a__b", "n:=1", "--as", "ann", "--groups", "x,y");
  await home.run("call", "a__b");
  expect(asked).toEqual([
    ["a__b", { n: 1 }, { as: "ann", groups: ["x", "y"], scopes: [] }],
    ["a__b", {}, undefined],
  ]);
});

test.each([{ CARDEA_URL: "http://127.0.0.1:8081" }, {}])("it asks no running gateway: %j", async (env) => {
  const shell = fakeShell({ env });
  const url = "CARDEA_URL" in env ? [] : ["--url", "http://127.0.0.1:8081"];
  expect(await runCommandLine(["call", "a__b", "--as", "ann", ...url], shell)).toBe(2);
  expect(shell.said.join()).toContain("--as starts the servers itself, and cannot go with --url");
});
