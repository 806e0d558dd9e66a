/** Which process issued an id that a client sends back? Ids begin with it, where there are several. */

/**
 * Session ids, handles of tasks and states of parked calls begin with the process that issued them: the number of a
 * worker, or the random id of a replica. The prefix is neither secret nor proof.
 */
const ISSUED = /^([0-9a-z]{1,8})-/;

/** @param issuer undefined if there is one process: `text` is returned unchanged */
export const withIssuer = (issuer: string | undefined, text: string): string =>
  issuer === undefined ? text : `${issuer}-${text}`;

/** The process that issued `text`; undefined if it has no prefix. */
export const issuerOf = (text: string): string | undefined => ISSUED.exec(text)?.[1];

/** `text` without its prefix. */
export const withoutIssuer = (text: string): string => text.replace(ISSUED, "");
