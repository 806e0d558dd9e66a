/** Figures that most cases have in common. */
import { words } from "./load.mjs";

/** No tool ran twice, and each call that was answered ran once. */
export async function checkLedger(row, ledger, { samples }) {
  const runs = await ledger.runs();
  const twice = [...runs].filter(([, times]) => times.length > 1).map(([key]) => key);
  row.check(
    "tools that ran twice",
    0,
    twice.length === 0
      ? `0 of ${runs.size}`
      : `${twice.length} of ${runs.size}: ${twice.slice(0, 5).join(", ")}`,
    twice.length === 0 && runs.size > 0,
  );
  const never = samples.filter(
    ({ error, kind, key }) => error === undefined && kind !== "list" && !runs.has(key),
  );
  row.check("calls that were answered and never ran", 0, never.length, never.length === 0);
}

/** Nothing failed at all. */
export function checkNoFailure(row, tally, what = "failed calls") {
  row.check(
    what,
    0,
    `${tally.failed.length} of ${tally.sent}${tally.failed.length === 0 ? "" : `: ${words(tally.errors)}`}`,
    tally.failed.length === 0 && tally.sent > 0,
  );
  const [first] = tally.failed;
  if (first === undefined) return;
  const { kind, era, at, end, detail = "" } = first;
  row.note(`the first of them: ${kind}, ${era}, after ${(end - at).toFixed(0)} ms: ${detail}`);
}

/** Every question was answered, or its call ended with one clear word. */
export function checkQuestions(row, tally) {
  const asked = tally.samples.filter(({ kind }) => kind === "ask");
  const unclear = asked.filter(({ error }) => error !== undefined && !/^[a-z_]+$/.test(error));
  const answered = asked.filter(({ error }) => error === undefined).length;
  row.check(
    "questions without an answer or one clear error",
    0,
    `${unclear.length} of ${asked.length} (${answered} answered)`,
    unclear.length === 0 && asked.length > 0,
  );
}

/** No session was unknown to its host. */
export const checkSessions = (row, tally) => row.check("lost sessions", 0, `${tally.lost}`, tally.lost === 0);

/**
 * Errors of a call with an unknown outcome: from a replica; from the balancer; or the balancer has closed the
 * connection, as it does when a response has begun, or when the connection to the replica had been used before.
 */
const UNKNOWN = /^(outcome_unknown$|HTTP 502|ECONNRESET$|UND_ERR_SOCKET$|other side closed|the stream ended)/;
/** How long the balancer may write to a connection of the dead replica. */
const NOTICE_MS = 50;

/** Only running calls of a killed replica failed, each with an error that states it. */
export function checkInFlight(row, tally, killedAt) {
  const later = tally.failed.filter(({ at }) => at > killedAt + NOTICE_MS);
  row.check(
    `failed calls that were sent more than ${NOTICE_MS} ms after the kill`,
    0,
    `${later.length}: ${words(countsOf(later))}`,
    later.length === 0,
  );
  const unclear = tally.failed.filter(({ error }) => !UNKNOWN.test(error));
  row.check(
    "failed calls that ended neither as `outcome_unknown` nor with their connection (502, reset)",
    0,
    `${unclear.length} of ${tally.failed.length}: ${words(countsOf(unclear))}`,
    unclear.length === 0,
  );
  const underWay = tally.within(killedAt, killedAt + NOTICE_MS).sent;
  row.check(
    "failed calls",
    `at most those under way (${underWay})`,
    `${tally.failed.length} of ${tally.sent}: ${words(tally.errors)}`,
    tally.failed.length <= underWay,
  );
}

function countsOf(samples) {
  const counts = {};
  for (const { error } of samples) counts[error] = (counts[error] ?? 0) + 1;
  return counts;
}

/** Each legacy session has served a quick call within `limitMs` after `from`. */
export function checkRecovery(row, { samples }, from, limitMs) {
  const sessions = new Set(
    samples.filter(({ session }) => session !== undefined).map(({ session }) => session),
  );
  const first = [...sessions].map((session) => {
    const own = samples.filter((one) => one.session === session && one.at > from && one.error === undefined);
    return Math.min(...own.map(({ end }) => end - from));
  });
  const never = first.filter((ms) => ms === Number.POSITIVE_INFINITY).length;
  row.check("sessions that never served again", `0 of ${sessions.size}`, never, never === 0);
  const slowest = Math.max(...first.filter(Number.isFinite));
  row.timing(
    "each session serves again after",
    `<= ${limitMs} ms`,
    `${Math.round(slowest)} ms`,
    slowest <= limitMs,
  );
}

/** An update of the page reaches every host that follows it: both servers announce it. */
export async function checkFollowers(row, cluster, load) {
  const before = await load.heard();
  await cluster.ledger.turn();
  const missing = async () => {
    const after = await load.heard();
    return after.filter(({ updates }, i) => updates - before[i].updates < 2).length;
  };
  const end = performance.now() + 5_000;
  while ((await missing()) > 0 && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 50));
  row.check(
    "hosts that do not hear an update of what they follow",
    `0 of ${before.length}`,
    await missing(),
    (await missing()) === 0,
  );
}

/** No session is open at two replicas. */
export async function checkOwners(row, cluster, sessions) {
  const open = await cluster.sum("cardea_sessions", { era: "legacy" });
  row.check("open sessions of all replicas together", `<= ${sessions}`, open, open <= sessions);
}
