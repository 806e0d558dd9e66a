/** `cardea login`: signs a person in to a server, with the browser of this or another machine. */
import { createInterface } from "node:readline";
import { refusalToStart } from "../../../cli/agreement.js";
import { type CommandContext, type Log, write } from "../../../cli/command-context.js";
import { EXIT, UsageError } from "../../../cli/exit.js";
import { type ConfigFlags, type GatewayFlags, isFlagSet, type YesFlag } from "../../../cli/flags.js";
import { browserOpener, openBrowser } from "../../../cli/open-browser.js";
import type { Config } from "../../../config/config.js";
import { ANONYMOUS } from "../../../core/client.js";
import { GatewayError } from "../../../core/errors.js";
import type { BegunLogin, LoginState } from "../local-sign-ins.js";
import { isTemporary, type OpenedDesk, openDesk } from "./sign-ins-of-command.js";

/** The flags of `login` in addition to the common ones. */
export interface LoginFlags {
  readonly as?: string;
  /** False after `--no-browser`. */
  readonly browser?: boolean;
  readonly device?: boolean;
  readonly acceptIssuer?: boolean;
  readonly acceptAudience?: boolean;
}

/** Polling interval and timeout (ms) of a sign-in. */
const POLL_MS = 300;
const LIMIT_MS = 600_000;

/** Signs in. @returns the exit code */
export async function login(
  server: string,
  flags: LoginFlags & ConfigFlags & GatewayFlags & YesFlag,
  shell: CommandContext,
): Promise<number> {
  const options = {
    browser: !isFlagSet(flags.browser === false ? true : undefined, "CARDEA_NO_BROWSER", shell.env),
    device: isFlagSet(flags.device, "CARDEA_DEVICE", shell.env),
    acceptsIssuer: isFlagSet(flags.acceptIssuer, "CARDEA_ACCEPT_ISSUER", shell.env),
    acceptsAudience: isFlagSet(flags.acceptAudience, "CARDEA_ACCEPT_AUDIENCE", shell.env),
  };
  const log = await shell.openLog();
  const opened = await openDesk(flags, shell, log);
  if (opened === undefined) return EXIT.config;
  const refusal = opened.own && (await refusalToStart(opened.own, flags, shell, log));
  if (refusal !== undefined) {
    await opened.close();
    return refusal;
  }
  const interrupted = shell.signals.next().then(() => EXIT.failed);
  try {
    const as = principalOf(server, flags, shell, opened.config);
    return await Promise.race([signIn(server, as, options, { shell, log, opened }), interrupted]);
  } catch (error) {
    return failed(error, log);
  } finally {
    await opened.close();
  }
}

/** The exit code for errors that a person can fix. @throws anything else */
export function failed(error: unknown, log: Log): number {
  const isKnown = error instanceof GatewayError || (error instanceof Error && error.name === "LoginRefused");
  if (!isKnown) throw error;
  log.error({}, error.message);
  return isTemporary(error) ? EXIT.unavailable : EXIT.failed;
}

/**
 * The principal of the sign-in at `server`. @throws UsageError if the gateway has principals and none is named, unless
 * all of them have one sign-in there (`auth.as`)
 */
export function principalOf(
  server: string,
  { as }: { readonly as?: string },
  { env }: Pick<CommandContext, "env">,
  config: Config | undefined,
): string {
  const named = as ?? (env.CARDEA_AS || undefined);
  if (named !== undefined) return named;
  const ids = [...new Set((config?.auth?.keys ?? []).map(({ id }) => id))];
  const { as: owner = "principal" } = config?.servers.find(({ name }) => name === server)?.auth ?? {};
  if (config?.auth === undefined || owner !== "principal") return ANONYMOUS.id;
  const who = ids.length > 0 ? ` (of auth.keys: ${ids.join(", ")})` : "";
  throw new UsageError(
    `this gateway distinguishes principals: name one with --as ID${who}; hosts over stdio are ${ANONYMOUS.id}`,
  );
}

interface SignInOptions {
  /** Whether a browser of this machine is opened, where there is one. */
  readonly browser: boolean;
  readonly device: boolean;
  /** Whether the issuer that the server names now is pinned first. */
  readonly acceptsIssuer: boolean;
  readonly acceptsAudience: boolean;
}

interface Around {
  readonly shell: CommandContext;
  readonly log: Log;
  readonly opened: OpenedDesk;
}

async function signIn(
  server: string,
  as: string,
  { browser, device, acceptsIssuer, acceptsAudience }: SignInOptions,
  { shell, log, opened }: Around,
): Promise<number> {
  const { desk } = opened;
  if (acceptsIssuer && !(await accept(server, { shell, log, opened }))) return EXIT.done;
  const begun = await desk.begin(server, as, { device, acceptsAudience });
  const { issuer, principal, scopes, userCode, resource } = begun;
  if (acceptsAudience) log.info({ server, resource }, `the tokens will be valid for all of ${resource}`);
  const permissions = scopes.length > 0 ? ` with ${scopes.join(" ")}` : "";
  log.info({ server, issuer, principal }, `signing ${principal} in to ${server} at ${issuer}${permissions}`);
  await write(shell.stdout, `${begun.url}\n`);
  if (userCode !== undefined)
    await write(shell.stderr, `Open the address above anywhere; the code is ${userCode}\n`);
  const opener = browser && !device ? browserOpener(shell.env, process.platform) : undefined;
  const isOpen = opener !== undefined && (await openBrowser(begun.url, opener));
  const advice = isOpen
    ? "Your browser shows the sign-in. Waiting until it is finished …"
    : device
      ? "Waiting until the code was entered …"
      : `Open the address above in a browser. On another machine it ends at an address that begins with ${begun.redirectUri} and cannot be shown: paste that here.`;
  await write(shell.stderr, `${advice}\n`);
  const state = await untilEnded(begun, device, { shell, log, opened });
  if (state?.state !== "done") {
    const reason =
      state?.state === "failed" ? state.reason : "it took longer than ten minutes; sign in again";
    log.error({ server }, `not signed in to ${server}: ${reason}`);
    return EXIT.failed;
  }
  const granted = state.scopes.length > 0 ? ` (${state.scopes.join(" ")})` : "";
  log.info({ server, principal }, `${principal} is signed in to ${server}${granted}`);
  await write(shell.stdout, `${await whatItCanDo(server, as, opened, shell, log)}\n`);
  return EXIT.done;
}

/** Pins the issuer that the server names now. @returns whether a person has to sign in there */
async function accept(server: string, { shell, log, opened: { desk } }: Around): Promise<boolean> {
  const { issuer, before, isChanged, needsPerson, endpoints } = await desk.acceptIssuer(server);
  const instead = before === undefined || !isChanged ? "" : `, in place of ${before.issuer}`;
  const at = [...new Set(Object.values(endpoints))].join(", ");
  log.info({ server, issuer }, `the issuer of ${server} is ${issuer} from now on (${at})${instead}`);
  if (!needsPerson) await write(shell.stdout, `${server}: ${issuer}\n`);
  return needsPerson;
}

async function untilEnded(
  { login: id }: BegunLogin,
  device: boolean,
  { shell, log, opened: { desk } }: Around,
): Promise<LoginState | undefined> {
  const lines = device ? undefined : createInterface({ input: shell.stdin, terminal: false });
  lines?.on("line", (line) => {
    const url = line.trim();
    if (url === "") return;
    desk.finish(id, url).catch((error: unknown) => {
      log.error({}, error instanceof Error ? error.message : String(error));
    });
  });
  try {
    for (let waited = 0; waited < LIMIT_MS; waited += POLL_MS) {
      const state = await desk.state(id);
      if (state?.state !== "waiting") return state;
      await shell.wait(POLL_MS);
    }
    return undefined;
  } finally {
    lines?.close();
    shell.stdin.pause();
  }
}

/** The server's current number of tools, from the running gateway or one of the command's own. */
async function whatItCanDo(
  server: string,
  as: string,
  { gateway, config }: OpenedDesk,
  shell: CommandContext,
  log: Log,
): Promise<string> {
  const query = as === ANONYMOUS.id ? { all: true } : { as: { as, scopes: [] }, all: true };
  const own =
    gateway !== undefined || config === undefined
      ? undefined
      : await shell.createGateway(
          { ...config, servers: config.servers.filter(({ name }) => name === server) },
          await shell.openLog({ quiet: true }),
        );
  try {
    const tools = await (gateway ?? own)?.lists("tools", query);
    const count = (tools ?? []).filter((entry) => entry.server === server).length;
    return `${server}: ${count === 1 ? "1 tool" : `${count} tools`}`;
  } catch (error) {
    log.debug({ error }, "the tools could not be counted");
    return `${server}: signed in`;
  } finally {
    await own?.stop({ immediate: true });
  }
}
