/** Who needs a sign-in at a server, as operators see it: each person where persons sign in, and never a person that does not exist. */
import "../admin/needed.js";
import { expect, test } from "vitest";
import { guardedServer } from "../../support/guarded-server.js";
import { until } from "../../support/until.js";
import { ERAS, team } from "./team.js";

type Row = Readonly<Record<string, unknown>>;

const rowsAt = (adminUrl: string) => async (path: string) =>
  (await (await fetch(`${adminUrl}/api/v1/${path}`)).json()) as Row[];

test.each(ERAS)(
  "each %s person is a problem with a command that works, until that person is signed in",
  async (era) => {
    const server = await guardedServer({ era });
    const { store, enter, adminUrl } = await team({ url: server.url }, { hasPages: false });
    const page = rowsAt(adminUrl);
    const bob = await enter("bob", era);
    expect(await page("problems")).toEqual([]);
    await bob.call("quiz__whoami");
    expect(await page("problems")).toMatchObject([
      {
        ...{ id: "sign_in:quiz:bob", kind: "sign_in", severity: "warning", server: "quiz", principal: "bob" },
        ...{ text: "bob needs a sign-in at quiz", count: 1 },
        actions: [{ path: "logins/quiz", body: { as: "bob" }, command: "cardea login quiz --as bob" }],
      },
    ]);
    const [row] = await page("servers");
    expect(row?.signIn).toMatchObject({ perPerson: true, needed: [{ principal: "bob", count: 1 }] });
    const all = JSON.stringify([await page("servers"), await page("status"), await page("problems")]);
    expect(all).not.toContain("anonymous");
    store.signIn("quiz", "bob");
    await until("no problem", async () => (await page("problems")).length === 0);
  },
);

test.each(ERAS)("where one sign-in serves all hosts, the server needs it (%s)", async (era) => {
  const server = await guardedServer({ era });
  const { adminUrl } = await team({ url: server.url }, { hasPages: false, config: { auth: undefined } });
  const page = rowsAt(adminUrl);
  await until("the problem", async () => (await page("problems")).length === 1);
  expect(await page("problems")).toMatchObject([
    { kind: "sign_in", text: "quiz needs a sign-in", actions: [{ command: "cardea login quiz" }] },
  ]);
});
