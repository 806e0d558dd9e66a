/** Which hosts of the modern era count as seen lately: by what each request says of its sender. */
import { expect, test, vi } from "vitest";
import type { Principal } from "../../../src/core/client.js";
import { ClientCache } from "../../../src/downstream/modern/read-meta.js";
import { RecentClients } from "../../../src/downstream/modern/recent-clients.js";
import { META } from "../../../src/wire/names.js";
import { fakeTime } from "../../support/fake-time.js";

const MINUTE = 60_000;
const BUSY: Principal = { id: "busy", groups: [], claims: {} };
const MANY: Principal = { id: "many", groups: [], claims: {} };

fakeTime();

test("a host that keeps calling stays among a thousand others; one that is silent for 30 minutes does not", () => {
  const recent = new RecentClients();
  const cache = new ClientCache(recent);
  const request = (principal: Principal, name: string): void => {
    const meta = { [META.clientCapabilities]: {}, [META.clientInfo]: { name, version: "1" } };
    cache.read(meta, { principal, endpoint: "" });
  };
  request(BUSY, "busy-host");
  for (let at = 0; at < 1_500; at++) {
    request(MANY, `other-${at}`);
    vi.advanceTimersByTime(MINUTE / 100);
    request(BUSY, "busy-host");
  }
  const names = (): readonly (string | undefined)[] => recent.list().map(({ client }) => client);
  expect(names()).toContain("busy-host");
  vi.advanceTimersByTime(31 * MINUTE);
  expect(names()).toEqual([]);
});
