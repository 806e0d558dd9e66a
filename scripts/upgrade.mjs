/**
 * `npm run upgrade [-- --against=REV | --earlier=MAIN] [--built]`: an earlier build of the program is backed up while it serves, replaced by this one, and
 * put back (docs/upgrade.md). Sessions, sign-ins, kept lists and the audit log are those of one state folder and one config throughout; in the
 * end the backup is restored into a new folder. `--against`: default the newest tag, without one the commit before the one that this script came with; `--earlier`: a program that is built already.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { startReplica } from "../cluster/support/replica.mjs";
import { buildVersion } from "../cluster/support/version.mjs";
import { MAIN } from "../faults/support/gateway.mjs";
import { start } from "../faults/support/processes.mjs";
import { row, until } from "../faults/support/row.mjs";
import { stdioServer } from "../faults/support/servers.mjs";
import { openHost, textOf } from "../test/support/host/host.mjs";
import { authorizeAs } from "../test/support/sign-in/person.mjs";
import { startRealIssuer } from "../test/support/sign-in/real-issuer.mjs";
import { build } from "./build.mjs";
import { root } from "./install.mjs";

const WITHOUT_TAG = "13bca3f2";
const givenFor = (flag) => process.argv.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1);
const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();

/** Of the host; the config has its hash. */
const KEY = "ck_a-key-of-the-host-of-this-script";
const PERSON = "ann";
const TOOLS = ["rest__echo", "notes__whoami"];

await row(
  "UPGRADE",
  "an earlier build, this one, the earlier one again, and a backup restored",
  async (row) => {
    if (!process.argv.includes("--built")) build();
    const earlier = earlierBuild(row);
    const issuer = await startRealIssuer();
    row.own({ stop: () => issuer.close() });

    const note = join(row.folder, "starts");
    const config = configOf({ issuer, note, folder: row.folder });
    const gateway = row.own(await startReplica(config, { main: earlier.main }));
    const place = dirname(gateway.file);
    const starts = () => readFileSync(note, "utf8").split("\n").length - 1;

    await gateway.start(earlier.main);
    await signIn(gateway, earlier.main, place);
    const host = await open(gateway);
    const session = host.session;
    row.check("the earlier build: calls", "2 ok", await callBoth(host, "before"), true);
    const told = async () => (await host.list("tools")).map(({ name }) => name);
    row.check("the earlier build: tools listed", TOOLS.length, ...has(await told()));

    const backup = join(row.folder, "backup");
    await whileCalling(host, () => backUp(place, backup));
    row.check(
      "the backup, made while it serves: audit log",
      "ok",
      ...verified(MAIN, join(backup, "audit.jsonl")),
    );

    for (const [name, main] of [
      ["this build", MAIN],
      ["the earlier build again", earlier.main],
    ]) {
      const ended = await gateway.end();
      row.check(`${name}: the one before it ended with`, 0, ended.code, ended.code === 0);
      const before = starts();
      await gateway.start(main);
      row.check(`${name}: tools listed at once`, TOOLS.length, ...has(await told()));
      const started = starts() - before;
      row.check(`${name}: servers started for that list`, 0, started, started === 0);
      const calls = await callBoth(host, name);
      row.check(`${name}: calls in the session of before`, "2 ok", calls, calls === "2 ok");
      row.check(
        `${name}: the session`,
        "the same",
        host.session === session ? "the same" : "another",
        host.session === session,
      );
      row.check(`${name}: sign-ins`, "notes signed_in", ...signIns(main, gateway.file, place));
      const { length } = warningsOf(gateway);
      row.check(`${name}: warnings about its state`, 0, length, length === 0);
      for (const warning of warningsOf(gateway)) row.note(`${name}: ${warning}`);
      row.check(`${name}: audit log`, "ok", ...verified(main, join(place, "audit.jsonl")));
    }
    await host.close();
    await gateway.end();
    await restore(row, { backup, config, note });
  },
);

/** The earlier program: built already, or of a revision. */
function earlierBuild(row) {
  const built = givenFor("--earlier");
  if (built !== undefined) return { main: built };
  const revision = givenFor("--against") ?? (git("tag", "--sort=-creatordate").split("\n")[0] || WITHOUT_TAG);
  row.note(`the earlier build is ${git("log", "-1", "--format=%h %s", revision)}`);
  return row.own(buildVersion(revision));
}

/** A server that is at rest, and one behind a sign-in. Folders and paths are absolute: kept lists belong to them. */
function configOf({ issuer, note, folder }) {
  const hash = createHash("sha256").update(KEY).digest("hex");
  return {
    mcpServers: {
      rest: stdioServer(["--note", note], { cwd: folder, start: "demand", idleTimeout: "1s" }),
      notes: { url: issuer.mcpUrl },
    },
    auth: { keys: [{ id: "team", hash: `sha256:${hash}` }] },
    audit: { file: "audit.jsonl", required: true },
    // The keys that the state folder makes for itself.
    keys: undefined,
  };
}

function open({ url }) {
  return openHost(url, "legacy", { headers: { authorization: `Bearer ${KEY}` } });
}

/** How many of the tools are listed, and whether all are. */
function has(names) {
  const found = TOOLS.filter((name) => names.includes(name));
  return [found.length, found.length === TOOLS.length];
}

/** `2 ok`, or what came instead. */
async function callBoth(host, text) {
  const said = textOf((await host.call("rest__echo", { text })).message);
  const who = textOf((await host.call("notes__whoami")).message);
  const isRight = said === text && who?.startsWith(`${PERSON} with `);
  return isRight ? "2 ok" : `${said}; ${who}`;
}

/** `cardea login`, with the browser of a person. */
async function signIn({ file }, main, place) {
  const args = [main, "login", "notes", "--as", "team", "--no-browser", "--config", file];
  const login = start(process.execPath, args, { env: environment(place) });
  let out = "";
  login.child.stdout.setEncoding("utf8").on("data", (text) => {
    out += text;
  });
  await until("an address to sign in at", () => /^http\S+\n/.test(out), 20_000);
  await fetch(await authorizeAs(out.split("\n")[0], PERSON));
  const { code } = await login.exited;
  if (code !== 0) throw new Error(`cardea login ended with ${code}: ${login.stderr}`);
}

function environment(place) {
  return { ...process.env, XDG_STATE_HOME: join(place, "state") };
}

function signIns(main, file, place) {
  const rows = JSON.parse(
    execFileSync(process.execPath, [main, "logins", "--json", "--config", file], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      env: environment(place),
    }),
  );
  const text = rows.map(({ server, state }) => `${server} ${state}`).join(", ");
  return [text, text === "notes signed_in"];
}

/** The first word of `cardea audit verify`, and whether it is `ok`. */
function verified(main, file) {
  try {
    const text = execFileSync(process.execPath, [main, "audit", "verify", file], { encoding: "utf8" });
    return [text.trim(), text.startsWith("ok")];
  } catch (error) {
    return [`${error.stdout}${error.stderr}`.trim(), false];
  }
}

/** Lines of the log about files of the state folder, or about sessions. */
function warningsOf({ program }) {
  return program.stderr
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))
    .filter(
      ({ level, msg }) =>
        level !== "info" && level !== "debug" && /lists|session|credential|key|audit/.test(msg),
    )
    .map(({ msg }) => msg);
}

/** Calls continue until `work` is done. */
async function whileCalling(host, work) {
  let isDone = false;
  const calling = (async () => {
    while (!isDone) await host.call("rest__echo", { text: "x" });
  })();
  await work();
  isDone = true;
  await calling;
}

/** As docs/backup.md says: the keys last, the head of the audit log before the log. */
async function backUp(place, backup) {
  mkdirSync(backup, { mode: 0o700 });
  const sh = `set -e
umask 077
cp cardea.json "${backup}/"
cp audit.jsonl.head "${backup}/"
cp audit.jsonl "${backup}/"
tar -C state/cardea --exclude='*.tmp' --exclude='*.lock' -cf "${backup}/state.tar" lists credentials credentials.key`;
  execFileSync("sh", ["-c", sh], { cwd: place });
}

/** The backup in a new folder, with and without the key of the vault. */
async function restore(row, { backup, config, note }) {
  const gateway = row.own(await startReplica(config));
  const place = dirname(gateway.file);
  const state = join(place, "state/cardea");
  mkdirSync(state, { recursive: true, mode: 0o700 });
  execFileSync("tar", ["-xpf", join(backup, "state.tar"), "-C", state]);
  for (const name of ["audit.jsonl", "audit.jsonl.head"]) cpSync(join(backup, name), join(place, name));
  rmSync(note);
  await gateway.start();
  const host = await open(gateway);
  row.check(
    "restored: tools listed at once",
    TOOLS.length,
    ...has((await host.list("tools")).map(({ name }) => name)),
  );
  const calls = await callBoth(host, "restored");
  row.check("restored: calls", "2 ok", calls, calls === "2 ok");
  row.check("restored: audit log goes on", "ok", ...verified(MAIN, join(place, "audit.jsonl")));
  await gateway.end();

  rmSync(join(state, "credentials.key"));
  await gateway.start();
  const response = await (await open(gateway)).call("notes__whoami");
  const sentence = JSON.stringify(response.message);
  const log = warningsOf(gateway).join(" ");
  row.check(
    "restored without credentials.key: it says",
    "which key is missing",
    sentence.slice(0, 400),
    /key/.test(sentence + log),
  );
  row.note(`its log: ${log}`);
}
