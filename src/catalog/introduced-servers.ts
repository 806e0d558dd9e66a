/** What does the gateway itself say of a server to one client? */
import type { Client } from "../core/client.js";
import type { IntroducedServer } from "../core/list-transform.js";
import { conditionOf } from "../core/server-condition.js";
import { asOf } from "../core/sign-in-command.js";
import { stateInUse } from "../core/upstream.js";
import type { ServerLists } from "./server-lists.js";

/** @param redact takes secrets out of errors */
export function introducedServer(
  server: ServerLists,
  client: Client,
  redact: (text: string) => string,
): IntroducedServer {
  const { name, upstream, listError } = server;
  const { lastError } = upstream;
  const hasListed = server.unfilteredCount(client, "tools") !== undefined;
  const condition = conditionOf({
    ...{ name, hasListed, state: stateInUse(upstream) },
    lastError: lastError === undefined ? undefined : redact(lastError),
    listError: listError === undefined ? undefined : redact(listError),
    wantsSignIn: server.wantsSignIn(client),
    as: upstream.separatesPrincipals === true ? asOf(client.principal) : undefined,
  });
  return { name, facts: server.factsFor(client), hasListed, condition };
}
