/** A request that was sent, for as long as its answer is waited for. */
import type { Request } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";

/** The id is needed until the answer comes; the parameters only for as long as it may have to be sent once more. */
export interface SentRequest extends Request {
  params?: JsonObject;
}

const RELEASED: JsonObject = Object.freeze({});

/** Lets go of the parameters, which may be megabytes; it cannot be sent any more. */
export function releaseParams(request: SentRequest): void {
  request.params = RELEASED;
}

export const isReleased = ({ params }: Request): boolean => params === RELEASED;
