/** Where do grants and signing keys outlive the process? In the folder of the vault, encrypted with its key. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { KeySource } from "../vault/key-source.js";
import { ProcessLocks } from "../vault/process-lock.js";
import { hostRecordName, RecordFiles } from "../vault/record-files.js";
import { Turns } from "../vault/turns.js";
import type { GrantStore } from "./types.js";

/** Where the files are. */
interface GrantFilesOptions {
  /** The folder of the vault; `cardea vault rotate` encrypts these files anew as well. */
  readonly folder: string;
  readonly keys: KeySource;
}

/** Opens the store; the folder is made where it is missing. @throws VaultError */
export async function openGrantFiles({ folder, keys }: GrantFilesOptions): Promise<GrantStore> {
  const files = new RecordFiles({ folder, keys });
  await files.open();
  const locks = new ProcessLocks(folder);
  const turns = new Turns();
  const start = hostRecordName("").file;
  return {
    read: async (name) => (await files.read(hostRecordName(name)))?.value,
    write: (name, value) => files.write(hostRecordName(name), value),
    remove: (name) => files.remove(hostRecordName(name)),
    async list(prefix) {
      const found = (await files.names()).filter(({ file }) => file.startsWith(`${start}${prefix}`));
      const dated = found.map(async ({ file }) => {
        // Another process may have removed it meanwhile.
        const stats = await stat(join(folder, file)).catch(() => undefined);
        return { name: file.slice(start.length), writtenAt: stats?.mtimeMs ?? 0 };
      });
      return Promise.all(dated);
    },
    locked: (name, task) =>
      turns.run(name, async () => {
        const lock = await locks.acquire(hostRecordName(name).file);
        try {
          return await task();
        } finally {
          await lock.release();
        }
      }),
  };
}
