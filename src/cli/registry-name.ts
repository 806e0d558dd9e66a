/** The names of servers in a registry. */

/** `io.github.owner/server`, and its version if one is named. */
export const REGISTRY_NAME = /^([a-zA-Z0-9][\w-]*(?:\.[\w-]+)+\/[\w.-]+?)(?:@([\w.+-]+))?$/;

/** `io.github.owner/server`, optionally with `@version`. */
export const isRegistryName = (text: string): boolean => REGISTRY_NAME.test(text);
