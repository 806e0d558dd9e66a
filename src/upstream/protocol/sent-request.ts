/** What of a sent request is kept until its response? */
import type { Request } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";

/** The id is needed until the response; the parameters only while the request may have to be sent again. */
export interface SentRequest extends Request {
  params?: JsonObject;
}

const RELEASED: JsonObject = Object.freeze({});

/** Drops the parameters, which may be megabytes; the request cannot be sent again. */
export function releaseParams(request: SentRequest): void {
  request.params = RELEASED;
}

/** Whether the parameters were dropped. */
export const isReleased = ({ params }: Request): boolean => params === RELEASED;
