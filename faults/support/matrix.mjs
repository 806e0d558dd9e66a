/** Scripts of a matrix: which there are, what each run gave, and the lines of the table that shows it. */
import { execFileSync, fork } from "node:child_process";
import { readdirSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";

/** The scripts of a folder whose names match: `file`, `key` such as `f01`, `id` such as `f1`. */
export const scriptsIn = (folder, pattern) =>
  readdirSync(folder)
    .filter((name) => pattern.test(name))
    .map((file) => {
      const [key] = /^[a-z]+\d*/.exec(file);
      return { file, key, id: key.replace(/^([a-z])0?(\d+)$/, (_, letter, number) => letter + number) };
    });

/** Runs one; resolves to what its `row` gave, or to one missed figure where it ended without. */
export function runScript(folder, { file, id }, flags) {
  return new Promise((resolve) => {
    const child = fork(`${folder}${file}`, flags);
    let result;
    child.on("message", (message) => {
      result = message;
    });
    child.once("exit", (code) => {
      const lost = [{ what: "the script", aim: "a result", figure: `exit code ${code}`, pass: false }];
      const none = { id: id.toUpperCase(), title: file, checks: lost, notes: [], seconds: 0 };
      resolve({ ...(result ?? none), file });
    });
  });
}

/** What all figures come to. `failed`: those that miss their target without a given reason. */
export function judge(results) {
  const checks = results.flatMap((result) => result.checks.map((check) => ({ ...check, id: result.id })));
  const failed = checks.filter(({ pass, why }) => pass === false && why === undefined);
  const short = checks.filter(({ pass, why }) => pass === false && why !== undefined);
  const open = checks.filter(({ pass }) => pass === undefined);
  const met = checks.length - failed.length - short.length - open.length;
  const sentence = `${checks.length} figures: ${met} meet their target, ${failed.length} miss it, ${short.length} miss it for a given reason, ${open.length} were not evaluated.`;
  return { sentence, failed };
}

/** The lines of one row in the table: what is done, and below it each figure. */
export function tableOf({ id, title, checks: own }) {
  const word = ({ pass, why }) => {
    if (pass === undefined) return "not evaluated";
    return pass ? "yes" : `**no**${why === undefined ? "" : `: ${why}`}`;
  };
  const cell = (text) => String(text).replaceAll("|", "\\|").replaceAll("\n", " ");
  const lines = own.map((check) => ["", check.what, check.aim, check.figure, word(check)]);
  return [[`**${id}**`, `**${title}**`, "", "", ""], ...lines].map((cells) => cells.map(cell).join(" | "));
}

/** The commit, with a word where any of `paths` has changed since; the machine; the date. */
export function circumstances(paths) {
  const cwd = new URL("../..", import.meta.url);
  const git = (...args) => execFileSync("git", args, { encoding: "utf8", cwd }).trim();
  const changed = git("status", "--porcelain", "--", ...paths) !== "";
  return {
    commit: `${git("rev-parse", "--short", "HEAD")}${changed ? " with changes" : ""}`,
    machine: `${cpus().length} × ${cpus()[0].model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.version}`,
    date: new Date().toISOString().slice(0, 10),
  };
}
