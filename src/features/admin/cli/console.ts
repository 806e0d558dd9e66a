/** `cardea console`: opens the console of the running gateway, unlocked. */
import { type CommandContext, write } from "../../../cli/command-context.js";
import { EXIT } from "../../../cli/exit.js";
import { type ConfigFlags, type GatewayFlags, isFlagSet } from "../../../cli/flags.js";
import { actAt } from "../../../cli/gateway-client.js";
import { browserOpener, openBrowser } from "../../../cli/open-browser.js";
import { findGateway } from "../../../cli/running-gateway.js";
import { GatewayError } from "../../../core/errors.js";
import { stringAt } from "../../../wire/json.js";

/** Whether the link is printed instead of opened. */
export interface PrintFlag {
  readonly print?: boolean;
}

/** Opens or prints a link that works once. @returns the exit code */
export async function openConsole(
  flags: ConfigFlags & GatewayFlags & PrintFlag,
  shell: CommandContext,
): Promise<number> {
  const log = await shell.openLog({ quiet: true });
  const address = await findGateway(flags, shell, log);
  if (address === undefined) return EXIT.unavailable;
  const { adminUrl } = address;
  let code: string | undefined;
  try {
    code = stringAt(await actAt(address, "console/link", {}), "code");
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.error({ code: error.code }, error.message);
    return error.code === "upstream_unavailable" ? EXIT.unavailable : EXIT.failed;
  }
  const link = new URL(`/#unlock=${code ?? ""}`, adminUrl).href;
  const isPrinted = isFlagSet(flags.print, "CARDEA_PRINT", shell.env);
  const opener = isPrinted ? undefined : browserOpener(shell.env, process.platform);
  if (opener !== undefined && (await openBrowser(link, opener))) {
    await write(shell.stderr, `Your browser shows the console at ${adminUrl}, unlocked.\n`);
    return EXIT.done;
  }
  await write(shell.stdout, `${link}\n`);
  await write(shell.stderr, "Open the address above in a browser; it works once, within a minute.\n");
  return EXIT.done;
}
