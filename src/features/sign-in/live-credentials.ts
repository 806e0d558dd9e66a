/** The credentials of a running gateway: the first request that needs a token opens the vault. */
import type {
  CredentialStore,
  RejectedRequest,
  RequestCredentials,
  SignInListener,
  TokenListener,
} from "../../core/credentials.js";
import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";

interface Listening {
  readonly server: string;
  readonly listener: SignInListener;
  end?: () => void;
}

interface WatchingTokens {
  readonly listener: TokenListener;
  end?: (() => void) | undefined;
}

/** A credential store that exists before the vault is open. */
export class LiveCredentials implements CredentialStore {
  readonly #open: () => Promise<CredentialStore>;
  #opened: CredentialStore | undefined;
  readonly #listening = new Set<Listening>();
  readonly #watching = new Set<WatchingTokens>();

  /** `open` resolves to the same store each time; it rejects if the vault cannot be used. */
  constructor(open: () => Promise<CredentialStore>) {
    this.#open = open;
  }

  of(server: string, principal: string): RequestCredentials {
    return new LiveRequestCredentials(server, async () => (await this.store()).of(server, principal));
  }

  watch(server: string, listener: SignInListener): () => void {
    const listening: Listening = { server, listener };
    this.#listening.add(listening);
    this.#listen(listening);
    return () => {
      this.#listening.delete(listening);
      listening.end?.();
    };
  }

  watchTokens(listener: TokenListener): () => void {
    const watching: WatchingTokens = { listener };
    this.#watching.add(watching);
    watching.end = this.#opened?.watchTokens?.(listener);
    return () => {
      this.#watching.delete(watching);
      watching.end?.();
    };
  }

  /** Also true where the vault cannot be used: the request then fails with the reason. */
  async offersSignIn(server: string): Promise<boolean> {
    const store = await this.store().catch(() => undefined);
    return store?.offersSignIn(server) ?? true;
  }

  /** The store, once the vault is open. */
  async store(): Promise<CredentialStore> {
    const opened = await this.#open();
    if (this.#opened === undefined) {
      this.#opened = opened;
      for (const listening of this.#listening) this.#listen(listening);
      for (const watching of this.#watching) watching.end = opened.watchTokens?.(watching.listener);
    }
    return opened;
  }

  #listen(listening: Listening): void {
    const { server, listener } = listening;
    if (this.#opened !== undefined) listening.end = this.#opened.watch(server, listener);
  }
}

/** The source of one principal at one server. */
class LiveRequestCredentials implements RequestCredentials {
  #opened: RequestCredentials | undefined;
  readonly #server: string;
  readonly #open: () => Promise<RequestCredentials>;

  constructor(server: string, open: () => Promise<RequestCredentials>) {
    this.#server = server;
    this.#open = open;
  }

  get header(): string | undefined {
    return this.#opened?.header;
  }

  get hasSignedIn(): boolean {
    return this.#opened?.hasSignedIn === true;
  }

  async obtain(signal: StopSignal): Promise<string> {
    return (await this.#inner()).obtain(signal);
  }

  async onRejected(rejected: RejectedRequest, signal: StopSignal): Promise<string | GatewayError> {
    let inner: RequestCredentials;
    try {
      inner = await this.#inner();
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    }
    return inner.onRejected(rejected, signal);
  }

  /** @throws GatewayError */
  async #inner(): Promise<RequestCredentials> {
    try {
      this.#opened ??= await this.#open();
      return this.#opened;
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const why = error instanceof Error ? error.message : String(error);
      const sentence = `the credentials of ${this.#server} cannot be used: ${why}`;
      throw new GatewayError("upstream_unavailable", "gateway", sentence, {
        server: this.#server,
        cause: error,
      });
    }
  }
}
