/** The message of an error, for operators. */

/** The message of a system error or of one of ours. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
