/** Record names are digests: neither a file nor a key of the store reveals the principal. */

import { createHash } from "node:crypto";
import { idOfKey } from "../../core/principal.js";

const CLIENT_PREFIX = "client-";
const HOST_PREFIX = "host-";
const ISSUER_PREFIX = "issuer-";
const DIGEST_LENGTH = 43;
const NAME = /^(?:client-|host-|issuer-)?[\w-]{43}$/;

/** The subject of a record. */
export interface RecordName {
  /** The name of its file. */
  readonly file: string;
  /** For messages, e.g. `the sign-in of "ann" at linear`. */
  readonly what: string;
  /** What to do if it cannot be used: the end of a sentence. */
  readonly remedy: string;
}

const digest = (...parts: readonly string[]): string =>
  createHash("sha256").update(parts.join("\0")).digest("base64url");

/** The record of the sign-in of `principal` (its key) at `server`. */
export function credentialName(server: string, principal: string): RecordName {
  const id = idOfKey(principal);
  const who = JSON.stringify(id);
  const as = /^[\w.@-]+$/.test(id) ? id : `'${id.replaceAll("'", "'\\''")}'`;
  return {
    file: digest(principal, server),
    what: `the sign-in of ${who} at server ${server}`,
    remedy: `cardea logout ${server} --as ${as} forgets it, and cardea login ${server} --as ${as} signs in again`,
  };
}

/** The record of the dynamic registration at `issuer` for `redirectUri`. */
export function clientName(issuer: string, redirectUri: string): RecordName {
  const file = `${CLIENT_PREFIX}${digest(issuer, redirectUri)}`;
  return {
    file,
    what: `the client registration at ${issuer}`,
    remedy: `remove ${file} to register again`,
  };
}

/** The record of the authorization server that `server`, at the origin of its URL, is bound to. */
export function issuerName(server: string, origin: string): RecordName {
  return {
    file: `${ISSUER_PREFIX}${digest(server, origin)}`,
    what: `the pinned issuer of server ${server}`,
    remedy: `cardea login ${server} --accept-issuer pins it again`,
  };
}

/** A record of the authorization server for hosts. @param id 43 characters of base64url */
export function hostRecordName(id: string): RecordName {
  const file = `${HOST_PREFIX}${id}`;
  return { file, what: "a sign-in of a host", remedy: `remove ${file}, and hosts sign in again` };
}

/** Whether a file name belongs to a sign-in record. */
export const isCredentialFile = (file: string): boolean => file.length === DIGEST_LENGTH;

/** Whether this is the file name of a record. */
export const isRecordFile = (file: string): boolean => NAME.test(file);

/** A record of which only the file name is known. */
export function nameOfFile(file: string): RecordName {
  const what = `the ${isCredentialFile(file) ? "sign-in" : "registration, pinned issuer or host's sign-in"} in ${file}`;
  return { file, what, remedy: `remove ${file} and sign in again` };
}
