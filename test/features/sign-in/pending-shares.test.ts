/** Sign-ins in progress: each principal has a share, so that one cannot keep others from signing in. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import type { LoginState } from "../../../src/features/sign-in/pending-content.js";
import { PendingRecords, type PendingRecordsOptions } from "../../../src/features/sign-in/pending-records.js";
import { recordsAt } from "../../../src/features/vault/records.js";
import { keySource } from "../../../src/features/vault/vault.js";
import { TAKES_ALL } from "../../support/sample.js";
import { adversarialServer } from "../../support/sign-in/adversarial-server.js";
import { Browser } from "../../support/sign-in/browser.js";
import { until } from "../../support/until.js";
import { stateFolder } from "../vault/credentials.js";
import { startDesk } from "./sign-in-desk.js";

const START = 1_790_000_000_000;
const loginOf = (principal: string): LoginState => ({ server: "notes", principal, state: "waiting" });

/** Records in a folder, and the number of times that it was listed. */
function pendingIn(state: string, options: Partial<PendingRecordsOptions> = {}) {
  const records = recordsAt({
    folder: join(state, "sign-ins"),
    keys: keySource({ folder: join(state, "credentials") }),
    logger: SILENT,
  });
  let lists = 0;
  const list = records.list.bind(records);
  records.list = () => {
    lists += 1;
    return list();
  };
  const clock = { now: START };
  const pending = new PendingRecords({ records, now: () => clock.now, ...options });
  return { pending, clock, lists: () => lists, files: () => readdirSync(join(state, "sign-ins")) };
}

test("a principal that starts many sign-ins keeps its newest, and another one signs in meanwhile", async () => {
  const { pending, lists, files } = pendingIn(stateFolder());
  await pending.put("login", "first of bob", loginOf("bob"));
  const count = TAKES_ALL ? 500 : 70;
  for (let n = 0; n < count; n += 1) await pending.put("state", `${n}`, loginOf("ann") as never);
  await pending.put("login", "second of bob", loginOf("bob"));
  for (const id of ["first of bob", "second of bob"])
    expect(await pending.read("login", id)).toEqual(loginOf("bob"));
  expect(await pending.read("state", `${count - 61}`)).toBeUndefined();
  expect(await pending.read("state", `${count - 60}`)).toBeDefined();
  expect(lists()).toBe(1);
  // Two shares, and the records in them.
  expect(files().filter((file) => !file.includes("."))).toHaveLength(60 + 2 + 2);
});

test("what is finished or has expired takes no part of the share", async () => {
  const { pending, clock } = pendingIn(stateFolder(), { share: 3 });
  await pending.put("ticket", "waits", loginOf("ann") as never);
  for (let n = 0; n < 10; n += 1) {
    await pending.put("state", `${n}`, loginOf("ann") as never);
    expect(await pending.take("state", `${n}`)).toBeDefined();
  }
  expect(await pending.read("ticket", "waits")).toBeDefined();
  await pending.put("state", "10", loginOf("ann") as never);
  clock.now += 601_000;
  await pending.put("login", "11", loginOf("ann"));
  await pending.put("login", "12", loginOf("ann"));
  expect(await pending.read("ticket", "waits")).toBeDefined();
  await pending.put("login", "13", loginOf("ann"));
  expect(await pending.read("ticket", "waits")).toBeUndefined();
});

test("processes over one folder share the shares", async () => {
  const state = stateFolder();
  const [one, two] = [pendingIn(state, { share: 4 }), pendingIn(state, { share: 4 })];
  await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      (n % 2 === 0 ? one : two).pending.put("login", `${n}`, loginOf("ann")),
    ),
  );
  const left = await Promise.all(Array.from({ length: 12 }, (_, n) => one.pending.read("login", `${n}`)));
  expect(left.filter((each) => each !== undefined)).toHaveLength(4);
});

test("with very many records in all, each principal still has one sign-in", async () => {
  const { pending } = pendingIn(stateFolder(), { limit: 10 });
  for (let n = 0; n < 20; n += 1) await pending.put("login", `of ${n}`, loginOf(`person ${n}`));
  for (let n = 0; n < 9; n += 1) await pending.put("login", `${n}`, loginOf("ann"));
  const left = await Promise.all(Array.from({ length: 9 }, (_, n) => pending.read("login", `${n}`)));
  expect(left.flatMap((each, n) => (each === undefined ? [] : [n]))).toEqual([6, 7, 8]);
  for (let n = 0; n < 20; n += 1) expect(await pending.read("login", `of ${n}`)).toBeDefined();
});

test("records of principals that do not return are deleted after their time", async () => {
  const state = stateFolder();
  const { pending, files } = pendingIn(state);
  for (let n = 0; n < 5; n += 1) await pending.put("login", `${n}`, loginOf(`person ${n}`));
  const later = pendingIn(state);
  // Records are dated by the file system.
  later.clock.now = Date.now() + 2_000_000;
  await later.pending.put("login", "later", loginOf("ann"));
  await until("only one sign-in is left", async () => files().length <= 3 || undefined);
});

test("the sign-in of one person ends while another starts many at the same server", async () => {
  const server = await adversarialServer();
  const desk = await startDesk({ mcpUrl: server.mcpUrl });
  const begun = await desk.signIns.begin("notes", "bob");
  const page = await desk.signIns.connectUrl("notes", "carol");
  for (let n = 0; n < (TAKES_ALL ? 60 : 25); n += 1) await desk.signIns.begin("notes", "ann");
  await desk.signIns.pasted(begun.login, await server.authorize(begun.url));
  expect((await new Browser().open(page)).status).toBe(200);
  expect(await desk.signIns.state(begun.login)).toMatchObject({ state: "done" });
});

test("the device sign-ins of one principal take no place of another", async () => {
  const server = await adversarialServer();
  const desk = await startDesk({ mcpUrl: server.mcpUrl });
  const bob = await desk.signIns.begin("notes", "bob", { device: true });
  for (let n = 0; n < 12; n += 1) await desk.signIns.begin("notes", "ann", { device: true });
  expect(await desk.signIns.state(bob.login)).toMatchObject({ state: "waiting" });
});
