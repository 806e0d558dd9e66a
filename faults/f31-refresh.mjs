/**
 * F31: tokens are refreshed while processes on one vault are killed. Each round the server refuses every token so far, 200
 * calls come at once in several processes, and one of them is killed (SIGKILL) at a random moment. The issuer is a real
 * oidc-provider with rotation: of two refreshes with one token one fails, and the winner's token dies too.
 *
 * `node faults/f31-refresh.mjs [--rounds=500] [--holders=12] [--in-process] [--redis]`; `--in-process` refreshes in the processes that
 * are killed, and with `--redis` the vault is in a store, as that of replicas, which is suspended for a moment of each round.
 */
import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { untilUp } from "../build/core/shared-store.js";
import { openStore } from "../build/features/cluster/store.js";
import { openVault } from "../build/features/vault/vault.js";
import { startRedis } from "../cluster/support/redis.mjs";
import { startRotatingIssuer } from "./support/rotating-issuer.mjs";
import { pause, row } from "./support/row.mjs";

const HOLDER = fileURLToPath(new URL("support/token-holder.mjs", import.meta.url));
const SILENT = { error() {}, warn() {}, info() {}, debug() {} };
const numberOf = (flag) => {
  const given = process.argv.find((word) => word.startsWith(`--${flag}=`))?.slice(flag.length + 3);
  return given === undefined ? undefined : Number(given);
};
/** Three gateways of four workers each; with `--holders=4` one of them. */
const HOLDERS = numberOf("holders") ?? 12;
const CALLS = 200;
const SERVER = "linear";
const PRINCIPAL = "ann";

const given = numberOf("rounds");
const inProcess = process.argv.includes("--in-process");
const isShared = process.argv.includes("--redis");

/** How long (ms) the store is suspended at most: longer than a use of it may take, shorter than a call waits for it. */
const STALL_MS = 1_200;

/** The processes of the worst moment: all are killed between the answer of the issuer and its arrival. */
const WORST = 3;

await row(
  "F31",
  `${CALLS} calls at once with a refused token, ${HOLDERS} processes, one killed each round`,
  async (row) => {
    await refresh(row);
    await atTheWorstMoment(row);
  },
);

async function refresh(row) {
  const rounds = given ?? (row.quick ? 10 : row.long ? 500 : 60);
  const issuer = row.own(await startRotatingIssuer());
  const { vault, place, stall } = await openPlace(row, "credentials");
  await vault.write({ ...(await issuer.signIn()), generation: 1, server: SERVER, principal: PRINCIPAL });

  const setup = {
    ...place,
    server: SERVER,
    principal: PRINCIPAL,
    tokenEndpoint: issuer.tokenEndpoint,
    inProcess,
  };
  const holders = await Promise.all(Array.from({ length: HOLDERS }, () => startHolder(setup)));
  row.own({ stop: async () => void (await Promise.all(holders.map((holder) => holder.kill()))) });

  const seen = { calls: 0, ok: 0, dead: 0, signIns: 0, errors: new Map(), killed: 0, stalls: 0 };
  /** How long a round takes about: each kill is at a random moment of it. */
  let roundMs = 400;
  const begun = performance.now();
  for (let round = 0; round < rounds; round += 1) {
    const newest = (await vault.read(SERVER, PRINCIPAL))?.tokens?.accessToken;
    if (newest === undefined) {
      seen.signIns += 1;
      await vault.write({
        ...(await issuer.signIn()),
        generation: ((await vault.read(SERVER, PRINCIPAL))?.generation ?? 0) + 1,
        server: SERVER,
        principal: PRINCIPAL,
      });
      continue;
    }
    const order = { refuse: `Bearer ${newest}`, calls: Math.ceil(CALLS / HOLDERS) };
    const victim = Math.floor(Math.random() * HOLDERS);
    const sent = performance.now();
    const answers = Promise.all(holders.map((holder) => holder.run(order))).then((all) => {
      roundMs = 0.7 * roundMs + 0.3 * (performance.now() - sent);
      return all;
    });
    const stalled = stall?.(Math.random() * roundMs, Math.random() * STALL_MS);
    if (stalled !== undefined) seen.stalls += 1;
    await pause(Math.random() * roundMs);
    await holders[victim].kill();
    seen.killed += 1;
    await stalled;
    const results = (await answers).filter((result) => result !== undefined);
    holders[victim] = await startHolder(setup);
    for (const { headers, failures } of results) {
      seen.calls += headers.length + failures.length;
      seen.ok += headers.length;
      for (const failure of failures) seen.errors.set(failure, (seen.errors.get(failure) ?? 0) + 1);
      for (const header of new Set(headers)) if (!(await issuer.isLive(header))) seen.dead += 1;
    }
  }
  const seconds = (performance.now() - begun) / 1_000;
  // When all is quiet, one more refresh shows that the last refresh token is the newest.
  const last = (await vault.read(SERVER, PRINCIPAL))?.tokens?.accessToken;
  const [end] = await Promise.all([holders[0].run({ refuse: `Bearer ${last}`, calls: 1 })]);
  const { refreshes, reuses, issued } = issuer.counts();
  row.check("rounds with a killed process", rounds, seen.killed, seen.killed + seen.signIns === rounds);
  if (stall !== undefined)
    row.check("rounds in which the store stood still", rounds, seen.stalls, seen.stalls === seen.killed);
  row.check(
    "refresh tokens lost, so that a person has to sign in again",
    0,
    seen.signIns,
    seen.signIns === 0,
  );
  row.check("refresh tokens used twice, as the issuer sees it", 0, reuses, reuses === 0);
  row.check("calls of living processes that got a token", seen.calls, seen.ok, seen.ok === seen.calls);
  row.check("tokens of calls that the issuer does not know", 0, seen.dead, seen.dead === 0);
  row.check(
    "refreshes for a round, of all processes",
    "1",
    (refreshes / rounds).toFixed(2),
    refreshes <= rounds * 1.1 + 1,
  );
  row.check(
    "the last refresh token works",
    "yes",
    end?.headers.length === 1 ? "yes" : "no",
    end?.headers.length === 1,
  );
  row.note(
    `${rounds} rounds in ${seconds.toFixed(0)} s, ${seen.calls} calls, ${refreshes} refreshes, ${issued} refresh tokens`,
  );
  for (const [failure, times] of seen.errors) row.note(`${times} × ${failure}`);
}

/** All processes are killed when the issuer has spent the refresh token and before its answer has left. */
async function atTheWorstMoment(row) {
  const times = row.quick ? 3 : 10;
  const issuer = row.own(await startRotatingIssuer());
  const { vault, place } = await openPlace(row, "worst");
  const owner = { server: SERVER, principal: PRINCIPAL };
  await vault.write({ ...(await issuer.signIn()), ...owner, generation: 1 });
  const setup = { ...place, ...owner, tokenEndpoint: issuer.tokenEndpoint, inProcess };
  let kept = 0;
  for (let at = 0; at < times; at += 1) {
    const holders = await Promise.all(Array.from({ length: WORST }, () => startHolder(setup)));
    const { accessToken } = (await vault.read(SERVER, PRINCIPAL)).tokens;
    const killed = new Promise((resolve) => {
      issuer.onceGranted(() => resolve(Promise.all(holders.map((holder) => holder.kill()))));
    });
    for (const holder of holders) void holder.run({ refuse: `Bearer ${accessToken}`, calls: 20 });
    await killed;
    const next = await startHolder(setup);
    const result = await next.run({ refuse: `Bearer ${accessToken}`, calls: 20 });
    await next.kill();
    if (result?.headers.length === 20 && (await issuer.isLive(result.headers[0]))) kept += 1;
    else await vault.remove(SERVER, PRINCIPAL);
    const signedIn = await vault.read(SERVER, PRINCIPAL);
    if (signedIn?.tokens === undefined) {
      const generation = (signedIn?.generation ?? 0) + 1;
      await vault.write({ ...(await issuer.signIn()), ...owner, generation });
    }
  }
  row.check(
    "all killed between the issuer's answer and its arrival, and the sign-in is kept",
    times,
    kept,
    kept === times,
  );
}

/** A vault in a folder or in a store, and how other processes open it; `stall` stops the store after `delayMs`, for `ms`. */
async function openPlace(row, name) {
  const folder = join(row.folder, name);
  if (!isShared) return { vault: await openVault({ folder, logger: SILENT }), place: { folder } };
  const redis = row.own(await startRedis());
  const { url } = redis;
  const place = { folder, keys: { key: randomBytes(32).toString("base64") }, store: { url, prefix: "f31" } };
  const store = await openStore({ config: place.store, logger: SILENT });
  row.own({ stop: () => store.close() });
  await untilUp(store, 10_000);
  const stall = async (delayMs, ms) => {
    await pause(delayMs);
    redis.program.child.kill("SIGSTOP");
    await pause(ms);
    redis.program.child.kill("SIGCONT");
  };
  return { vault: await openVault({ ...place, shared: store, logger: SILENT }), place, stall };
}

/** A process that holds the credentials, as a gateway or a worker does. */
async function startHolder(setup) {
  const child = fork(HOLDER, [JSON.stringify(setup)], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  await new Promise((resolve, reject) => {
    child.once("message", resolve);
    void exited.then(() => reject(new Error("a holder did not start")));
  });
  return {
    /** Undefined where it was killed meanwhile. */
    async run(order) {
      const answer = new Promise((resolve) => child.once("message", resolve));
      if (!child.connected) return undefined;
      child.send(order, () => {});
      return Promise.race([answer, exited.then(() => undefined)]);
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
