/** Writes the lists of one server over and over, until it is killed. */
import { fileURLToPath } from "node:url";
import { ListFiles } from "../../build/features/kept-lists/list-files.js";

/** The config of the server, of which nothing but the start matters. */
export const serverOfWriter = { name: "one", identity: "one" };

/** Tools of 64 KiB, all of which carry the number of the write. */
const knowing = (write) => ({
  startFailed: false,
  scopes: new Map([
    [
      "shared",
      new Map([
        [
          "tools",
          {
            items: Array.from({ length: 500 }, (_, at) => ({
              ...{ name: `tool_${at}`, description: `write ${write}`, inputSchema: { type: "object" } },
              "x-more": "x".repeat(64),
            })),
            malformed: [],
            freshness: { ttlMs: 0, scope: "private" },
            hasTtl: false,
            fetchedAt: write,
          },
        ],
      ]),
    ],
  ]),
});

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const silent = { error() {}, warn() {}, info() {}, debug() {} };
  const files = new ListFiles({ folder: process.argv[2], version: "0.0.0", log: silent });
  for (let write = 0; ; write += 1) {
    const kept = files.open(serverOfWriter);
    kept.followLists(() => knowing(write));
    kept.changed();
    await kept.close();
    if (write === 1) process.send("writing");
  }
}
