/** What a client must have declared of extensions before it may use what they add. */
import type { Call } from "../../core/call.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import type { GatewayApi } from "../../core/gateway-api.js";
import { objectAt } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import { EXTENSION_OF } from "./methods.js";

/**
 * @throws GatewayError -32021 when the method belongs to an extension that is served here and that the client has
 * not declared on this very request (SEP-2663, "Protocol Errors"). What is not served does not exist for anybody.
 */
export async function checkExtension(
  { method, client }: Call,
  gateway: Pick<GatewayApi, "describe">,
): Promise<void> {
  const extension = EXTENSION_OF.get(method);
  if (extension === undefined || declares(client, extension)) return;
  const { capabilities } = await gateway.describe(client);
  if (objectAt(capabilities, "extensions")?.[extension] !== undefined) throw undeclared(extension);
}

export const declares = ({ capabilities }: Client, extension: string): boolean =>
  objectAt(objectAt(capabilities, "extensions"), extension) !== undefined;

export const undeclared = (extension: string): GatewayError =>
  new GatewayError("bad_request", "downstream", `this needs a client that declares ${extension}`, {
    rpc: CODE.missingClientCapability,
    data: { requiredCapabilities: { extensions: { [extension]: {} } } },
  });
