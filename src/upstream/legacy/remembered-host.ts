/** What may the server of one connection remember of the hosts that it has served: their program, and their roots? */
import type { RootsAnswer } from "../../core/call.js";
import type { Client } from "../../core/client.js";
import { boundedKey } from "../../runtime/cache-limits.js";
import { canonicalText } from "../../wire/json-text.js";

/** The key of the program of a host, by its name and version. */
export const programOf = (info: Client["info"]): string => boundedKey(canonicalText(info ?? {}));

/** The key of hosts of one program with the same roots. */
export const hostWithRoots = (program: string, roots: RootsAnswer): string =>
  boundedKey(`${program} ${canonicalText(roots)}`);

/** What is known when a connection is made, and who is notified of the rest. */
export interface RememberedHostSettings {
  /** The roots of the only hosts whose calls come on the connection; undefined: they are not known. */
  readonly roots?: RootsAnswer | undefined;
  /** The server has the roots of a host: from now on the connection is for such hosts only. */
  readonly onRootsTold: (program: string, roots: RootsAnswer) => void;
}

/** The hosts of a connection that is kept for no single session; it outlives a reconnect. */
export class RememberedHost {
  readonly #onRootsTold: RememberedHostSettings["onRootsTold"];
  #roots: RootsAnswer | undefined;
  #program: string | undefined;
  /** The call in which the server got the roots, while it runs. */
  #inCall: object | undefined;

  constructor({ roots, onRootsTold }: RememberedHostSettings) {
    this.#roots = roots;
    this.#onRootsTold = onRootsTold;
  }

  /** The roots of the hosts that the connection is kept for; undefined: they are not known. */
  get roots(): RootsAnswer | undefined {
    return this.#roots;
  }

  /** What the server gets when it asks for roots in `call`; undefined: the host of the call is asked, which may be again. */
  rootsFor(call: object | undefined): RootsAnswer | undefined {
    return call !== undefined && call === this.#inCall ? undefined : this.#roots;
  }

  /** The program whose answers the server has; undefined until one has answered. */
  get program(): string | undefined {
    return this.#program;
  }

  /** The host of `call` has answered a question of that kind. */
  answered(call: { readonly host: Client["info"] }, kind: string, answer: RootsAnswer): void {
    const program = programOf(call.host);
    this.#program ??= program;
    if (kind !== "roots" || (this.#roots !== undefined && this.#inCall !== call)) return;
    this.#roots = answer;
    this.#inCall = call;
    this.#onRootsTold(program, answer);
  }

  /** `call` has ended. */
  ended(call: object): void {
    if (this.#inCall === call) this.#inCall = undefined;
  }
}
