/** Parameters and answers of hosts that could be read in several ways, or hide what is judged, are refused. */

import type { Envelope } from "../wire/envelope.js";
import type { JsonObject } from "../wire/json.js";
import { CODE } from "../wire/names.js";
import { membersFault, paramsFault } from "./ambiguous-members.js";
import { GatewayError } from "./errors.js";
import { INPUT_RESPONSE, type Members } from "./members.js";

/** @throws GatewayError -32602 that names the member, for a request or a notification */
export function checkParams(method: string, params: JsonObject | undefined): void {
  const fault = paramsFault(method, params);
  if (fault !== undefined) throw invalidParams(fault);
}

/** @throws GatewayError -32602 that names the member */
export function checkMembers(object: JsonObject, members: Members, path: string): void {
  const fault = membersFault(object, members, path);
  if (fault !== undefined) throw invalidParams(fault);
}

/** What is wrong with a response to a question, as a sentence. */
export const responseFault = ({ result }: Envelope): string | undefined =>
  result === undefined ? undefined : membersFault(result, INPUT_RESPONSE, "");

export const invalidParams = (sentence: string): GatewayError =>
  new GatewayError("bad_request", "downstream", sentence, { rpc: CODE.invalidParams });
