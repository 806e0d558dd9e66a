/** Logging of unattributable messages on the channels of a configured server. */
import { expect, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { channelFactory } from "../../../src/upstream/supervision/channel-factory.js";
import { inRepository } from "../../support/cardea.js";
import { serverConfig } from "../../support/fake-channel.js";
import { until } from "../../support/until.js";

test("a duplicate response is counted, and ignored", async () => {
  const server = serverConfig({
    transport: {
      kind: "stdio",
      command: process.execPath,
      args: [inRepository("test/support/servers/stdio.mjs")],
      env: {},
      cwd: process.cwd(),
    },
  });
  let strays = 0;
  const onUnmatchedMessage = () => {
    strays += 1;
  };
  const opener = channelFactory(server, SILENT, { onUnmatchedMessage });
  const channel = await opener.open("stdio", server, new AbortController().signal);
  channel.listen(() => {});
  const { message } = await channel.exchange({ jsonrpc: "2.0", id: 1, method: "twice" });
  expect(message).toMatchObject({ id: 1, result: { time: 1 } });
  await until("the second answer", () => strays === 1);
  await channel.close();
  await opener.close();
});
