/** Stores grants and signing keys among the records of the vault, encrypted with its keys. */
import { hostRecordName } from "../vault/record-names.js";
import { type RecordsOptions, recordsAt } from "../vault/records.js";
import { TaskQueues } from "../vault/task-queues.js";
import type { GrantStore } from "./types.js";

/** Opens the grants beside the vault's records; `cardea vault rotate` re-encrypts them too. @throws VaultError */
export async function openGrantRecords(options: RecordsOptions): Promise<GrantStore> {
  const records = recordsAt(options);
  await records.open();
  const queues = new TaskQueues();
  const start = hostRecordName("").file;
  return {
    read: async (name) => (await records.read(hostRecordName(name)))?.value,
    write: (name, value) => records.write(hostRecordName(name), value),
    async remove(name) {
      await records.remove(hostRecordName(name));
    },
    async list(prefix) {
      const found = (await records.list()).filter(({ file }) => file.startsWith(`${start}${prefix}`));
      return found.map(({ file, writtenAt }) => ({ name: file.slice(start.length), writtenAt }));
    },
    locked: (name, task) =>
      queues.run(name, async () => {
        const lock = await records.lock(hostRecordName(name));
        try {
          return await task();
        } finally {
          await lock.release();
        }
      }),
  };
}
