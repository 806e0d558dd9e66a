/** The connections that the primary process accepts for a worker. */
import type { Socket } from "node:net";
import type { AcceptedConnections } from "../../core/process-member.js";

/** Those of one worker. */
export class TakenConnections implements AcceptedConnections {
  #take: ((connection: Socket) => void) | undefined;

  constructor(
    readonly port: number,
    readonly bind: AcceptedConnections["bind"],
  ) {}

  onConnection(take: (connection: Socket) => void): () => void {
    this.#take = take;
    return () => {
      this.#take = undefined;
    };
  }

  /** One has come; undefined if its client has left meanwhile. Returns whether it is taken. */
  receive(connection: Socket | undefined): boolean {
    if (connection === undefined) return true;
    if (this.#take === undefined) {
      connection.destroy();
      return false;
    }
    this.#take(connection);
    return true;
  }
}
