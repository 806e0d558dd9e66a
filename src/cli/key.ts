/** `cardea key`: generates an API key, prints it once, and prints its hash or adds it to the config. */

import { hash, randomBytes } from "node:crypto";
import { identifierFault } from "../wire/readable-text.js";
import { isReservedId } from "../wire/reserved-ids.js";
import { type CommandContext, write } from "./command-context.js";
import { EXIT, UsageError } from "./exit.js";
import { type ConfigFlags, type JsonFlag, wantsAdd, wantsJson } from "./flags.js";
import { addKey } from "./key-file.js";

/** The flags of `cardea key`. */
export interface KeyFlags {
  readonly id?: string;
  readonly groups?: string;
  readonly expires?: string;
  /** Writes the entry into the config. */
  readonly add?: boolean;
}

/** A prefix that secret scanners recognise. */
const PREFIX = "cardea_";
const DAY_MS = 86_400_000;
const TIME_UNITS_MS: Readonly<Record<string, number>> = {
  h: DAY_MS / 24,
  d: DAY_MS,
  w: 7 * DAY_MS,
  y: 365 * DAY_MS,
};

/** The key is on the first line, its entry for `auth.keys` on the second; with `--add` the key only. */
export async function key(flags: KeyFlags & ConfigFlags & JsonFlag, shell: CommandContext): Promise<number> {
  const flag = (name: "id" | "groups" | "expires"): string | undefined => {
    const value = flags[name] ?? shell.env[`CARDEA_${name.toUpperCase()}`];
    return value === "" ? undefined : value;
  };
  const id = flag("id") ?? `key-${randomBytes(4).toString("hex")}`;
  if (isReservedId(id) || id.length > 200 || identifierFault(id) !== undefined) {
    throw new UsageError(
      "--id takes 1 to 200 characters, none of them hidden, and no id of the gateway itself (anonymous, operator, admin-token, shared, service, group:NAME)",
    );
  }
  const add = wantsAdd(flags, shell.env);
  if (flags.config !== undefined && !add) {
    throw new UsageError("--config goes with --add, which writes the key's hash into that file");
  }
  const groups = (flag("groups") ?? "").split(",").flatMap((group) => group.trim() || []);
  const expires = flag("expires");
  const json = wantsJson(flags, shell.env);
  const secret = `${PREFIX}${randomBytes(32).toString("base64url")}`;
  const entry = {
    id,
    hash: `sha256:${hash("sha256", secret)}`,
    ...(groups.length > 0 && { groups }),
    ...(expires !== undefined && { expires: expiry(expires) }),
  };
  const file = add ? await addKey(entry, flags, shell) : undefined;
  if (typeof file === "number") return file;
  const lines = file === undefined ? [secret, JSON.stringify(entry)] : [secret];
  const text = json
    ? JSON.stringify({ key: secret, entry, ...(file !== undefined && { file }) }, null, 2)
    : lines.join("\n");
  await write(shell.stdout, `${text}\n`);
  if (!json) await write(shell.stderr, `${file === undefined ? HINT : HINT_ADDED}\n`);
  return EXIT.done;
}

const HINT =
  "The first line is the key: it is shown only now. The second goes into auth.keys of the config, and does not reveal the key.\n" +
  "(cardea key --add writes it there.)";
const HINT_ADDED = "This is the key: it is shown only now. Hosts send it as Authorization: Bearer KEY.";

/** The time `text` from now, to the second, in the config's format. */
function expiry(text: string): string {
  const [, amount, unit = ""] = /^(\d{1,6})([hdwy])$/.exec(text) ?? [];
  const date = /^\d{4}-\d\d-\d\d(T.*)?$/.test(text) ? Date.parse(text) : Number.NaN;
  const at = amount === undefined ? date : Date.now() + Number(amount) * (TIME_UNITS_MS[unit] ?? Number.NaN);
  const last = Date.UTC(9999, 11, 31);
  if (!(at > Date.now() && at < last)) {
    throw new UsageError('--expires takes a time to come, such as "90d", "12h", "1y" or "2027-01-31"');
  }
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}
