import { expect, test, vi } from "vitest";
import { fakeTime } from "../support/fake-time.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, server, tool } from "./support.js";

fakeTime();

test("/mcp/NAME knows the names of the whole gateway, so that no rule is bypassed", async () => {
  const files = fakeUpstream("files", {
    lists: {
      tools: [tool("read")],
      resources: [{ uri: "file:///a" }, { uri: "https://example.com/a" }],
    },
  });
  const catalog = catalogOf([files], { servers: [server("files")] });
  await vi.advanceTimersByTimeAsync(0);
  const alone = catalog.view(fakeClient({ endpoint: "files" }));
  expect(alone.find("tools", "read")).toMatchObject({ exposed: "read", aggregateName: "files__read" });
  expect(alone.find("resources", "file:///a")).toMatchObject({ aggregateName: "files+file:///a" });
  expect(alone.find("resources", "file:///unlisted")).toMatchObject({
    aggregateName: "files+file:///unlisted",
  });
  expect(alone.find("resources", "https://example.com/a")).not.toHaveProperty("whole");
  expect(catalog.view(fakeClient()).find("tools", "files__read")).not.toHaveProperty("whole");
});

test("also where the whole had to give it another ending", async () => {
  const first = fakeUpstream("first", { lists: { tools: [tool("s__read")] } });
  const second = fakeUpstream("second", { lists: { tools: [tool("read")] } });
  const catalog = catalogOf([first, second], {
    servers: [server("first", { prefix: "" }), server("second", { prefix: "s" })],
  });
  await vi.advanceTimersByTimeAsync(0);
  const [whole] = catalog.view(fakeClient()).list("tools").entries;
  expect(whole?.route.exposed).toMatch(/^s__read_[a-z2-7]{8}$/);
  expect(catalog.view(fakeClient({ endpoint: "first" })).find("tools", "s__read")).toMatchObject({
    exposed: "s__read",
    aggregateName: whole?.route.exposed,
  });
});
