/** The disk of several processes in a test: vaults that share their records and locks, and processes that can be killed. */
import type { Credential, IssuerPin, Vault } from "../../../src/features/vault/types.js";
import { VaultError } from "../../../src/features/vault/vault-error.js";

const never = new Promise<never>(() => {});

/** The records, and who holds which lock. */
export class Disk {
  readonly records = new Map<string, Credential>();
  readonly #holders = new Map<string, Process>();
  readonly #waiting: (() => void)[] = [];
  /** What each read and write waits for; a test decides in which order they happen. */
  step: (label: string) => Promise<void> = () => Promise.resolve();
  /** The next writes fail with this. */
  fault: VaultError | undefined;

  get(server = "linear", principal = "ann"): Credential | undefined {
    return this.records.get(keyOf(server, principal));
  }

  async acquire(key: string, process: Process): Promise<void> {
    for (;;) {
      const holder = this.#holders.get(key);
      if (holder === undefined || !holder.isAlive) break;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#holders.set(key, process);
  }

  release(key: string, process: Process): void {
    if (this.#holders.get(key) === process) this.#holders.delete(key);
    this.wake();
  }

  wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

const keyOf = (server: string, principal: string): string => `${server}\0${principal}`;

/** One process on the disk: its vault. Work of a killed one stops. */
export class Process implements Vault {
  isAlive = true;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly disk: Disk) {}

  kill(): void {
    this.isAlive = false;
    this.disk.wake();
  }

  /** Waits for its turn at the disk, forever where the process is dead. */
  async #step(label: string): Promise<void> {
    await this.disk.step(label);
    if (!this.isAlive) await never;
  }

  async read(server: string, principal: string): Promise<Credential | undefined> {
    await this.#step("read");
    return this.disk.get(server, principal);
  }

  async write(credential: Credential): Promise<void> {
    await this.#step("write");
    if (this.disk.fault !== undefined) throw this.disk.fault;
    const key = keyOf(credential.server, credential.principal);
    const before = this.disk.records.get(key);
    if (before !== undefined && before.generation >= credential.generation) {
      throw new VaultError("superseded", "a newer generation is on disk");
    }
    this.disk.records.set(key, credential);
  }

  async remove(server: string, principal: string): Promise<void> {
    await this.#step("remove");
    this.disk.records.delete(keyOf(server, principal));
  }

  async list(): Promise<readonly Credential[]> {
    return [...this.disk.records.values()];
  }

  readClient(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  writeClient(): Promise<void> {
    return Promise.resolve();
  }

  removeClient(): Promise<void> {
    return Promise.resolve();
  }

  readPin(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  updatePin(
    _server: string,
    _origin: string,
    update: (kept: IssuerPin | undefined) => IssuerPin,
  ): Promise<IssuerPin> {
    return Promise.resolve(update(undefined));
  }

  writePin(): Promise<void> {
    return Promise.resolve();
  }

  locked<T>(server: string, principal: string, task: () => Promise<T>): Promise<T> {
    const key = keyOf(server, principal);
    const run = async (): Promise<T> => {
      await this.disk.acquire(key, this);
      if (!this.isAlive) await never;
      try {
        return await task();
      } finally {
        this.disk.release(key, this);
      }
    };
    const mine = this.#turn.then(run, run);
    this.#turn = mine.catch(() => {});
    return mine;
  }
}
