/** The pinned issuers of servers: one record per server, which also counts for sign-ins of earlier versions. */
import { LRUCache } from "lru-cache";
import { isObject } from "../../wire/json.js";
import { issuerName, type RecordName } from "./record-names.js";
import type { Records } from "./records.js";
import type { Credential, IssuerPin } from "./types.js";
import { VaultError } from "./vault-error.js";

/** Dependencies of the pins. */
interface IssuerPinsOptions {
  readonly records: Records;
  /** Runs a task under the lock of a record. */
  readonly locked: <T>(name: RecordName, task: () => Promise<T>) => Promise<T>;
  /** All sign-ins, without tokens. */
  readonly signIns: () => Promise<readonly Omit<Credential, "tokens">[]>;
}

/** Pins that this process remembers, so that their removal from a store does not unpin. */
const MAX_SEEN = 1_000;

/** The pins of one vault. */
export class IssuerPins {
  readonly #seen = new LRUCache<string, IssuerPin>({ max: MAX_SEEN });
  /** Sign-ins at the start of the process; every later one has a pin. */
  #earlier: Promise<readonly Omit<Credential, "tokens">[]> | undefined;

  constructor(private readonly options: IssuerPinsOptions) {}

  /** The pin; without a record that of a sign-in of an earlier version. @throws VaultError */
  async read(server: string, origin: string): Promise<IssuerPin | undefined> {
    const name = issuerName(server, origin);
    const record = await this.options.records.read(name);
    if (record !== undefined && !isPin(record.value, server, origin)) {
      throw new VaultError(
        "damaged",
        `${name.what} has a format that this version does not read; ${name.remedy}`,
      );
    }
    const pin = record?.value as IssuerPin | undefined;
    const seen = this.#seen.get(name.file);
    if (seen !== undefined && seen.pinnedAt > (pin?.pinnedAt ?? 0)) return seen;
    if (pin !== undefined) this.#seen.set(name.file, pin);
    return pin ?? this.#earlierPin(server, origin);
  }

  /** @throws VaultError, and what `update` throws */
  update(
    server: string,
    origin: string,
    update: (kept: IssuerPin | undefined) => IssuerPin,
  ): Promise<IssuerPin> {
    const name = issuerName(server, origin);
    return this.options.locked(name, async () => {
      const kept = await this.read(server, origin);
      const pin = update(kept);
      if (pin !== kept) await this.options.records.write(name, pin);
      this.#seen.set(name.file, pin);
      return pin;
    });
  }

  /** Replaces the pin, also one that cannot be read. @throws VaultError */
  write(pin: IssuerPin): Promise<void> {
    const name = issuerName(pin.server, pin.origin);
    return this.options.locked(name, async () => {
      await this.options.records.write(name, pin);
      this.#seen.set(name.file, pin);
    });
  }

  async #earlierPin(server: string, origin: string): Promise<IssuerPin | undefined> {
    this.#earlier ??= this.options.signIns().catch((error: unknown) => {
      this.#earlier = undefined;
      throw error;
    });
    const found = (await this.#earlier).find(
      (each) => each.server === server && originOf(each.resource) === origin,
    );
    if (found === undefined) return undefined;
    const { issuer, tokenEndpoint } = found;
    const token = originOf(tokenEndpoint);
    const endpoints = token === undefined ? {} : { token_endpoint: token };
    return { server, origin, issuer, requested: issuer, endpoints, by: "record", pinnedAt: 0 };
  }
}

const originOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).origin : undefined);

function isPin(value: unknown, server: string, origin: string): value is IssuerPin {
  return (
    isObject(value) &&
    value.server === server &&
    value.origin === origin &&
    [value.issuer, value.requested, value.by].every((each) => typeof each === "string") &&
    typeof value.pinnedAt === "number" &&
    isObject(value.endpoints)
  );
}
