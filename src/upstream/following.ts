/** The resources that somebody follows over one connection, kept while the connection comes and goes. */
import type { RpcError } from "../wire/envelope.js";
import type { Connection } from "./connection.js";

interface Followed {
  count: number;
  stop: (() => void) | undefined;
}

export class Following {
  readonly #followed = new Map<string, Followed>();
  #connection: Connection | undefined;

  get size(): number {
    return this.#followed.size;
  }

  /** Counts one more follower of `uri`; call the returned function to stop. */
  follow(uri: string): () => void {
    const followed = this.#followed.get(uri) ?? { count: 0, stop: this.#connection?.follow(uri) };
    followed.count += 1;
    this.#followed.set(uri, followed);
    let stopped = false;
    return () => {
      if (stopped) return;
      stopped = true;
      followed.count -= 1;
      if (followed.count > 0) return;
      this.#followed.delete(uri);
      followed.stop?.();
    };
  }

  /** The error with which the server refused to tell of `uri`; undefined while there is no connection to ask over. */
  async refusal(uri: string): Promise<RpcError | undefined> {
    return this.#followed.has(uri) ? this.#connection?.refusal(uri) : undefined;
  }

  /**
   * From now on over `connection`. Returns what may have changed unheard while there was none; nothing when it
   * is the first connection.
   */
  moveTo(connection: Connection): readonly string[] {
    const again = this.#connection !== undefined;
    this.#connection = connection;
    for (const [uri, followed] of this.#followed) followed.stop = connection.follow(uri);
    return again ? [...this.#followed.keys()] : [];
  }
}
