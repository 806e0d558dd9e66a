/** JSON objects with members of any type. */

/** An object. */
export type Json = Readonly<Record<string, unknown>>;
