/** JSON with members of any kind, as messages and schemas have them. */

/** An object. */
export type Json = Readonly<Record<string, unknown>>;
