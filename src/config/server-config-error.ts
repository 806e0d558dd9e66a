/** A contradiction in a server's settings: a sentence, and the path within the server. */
export class ServerConfigError extends Error {
  readonly path: readonly string[];
  constructor(message: string, ...path: readonly string[]) {
    super(message);
    this.path = path;
  }
}
