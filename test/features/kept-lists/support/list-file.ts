/** The file that stands for what is known of a server, written at once. */

import type { PersistedServer } from "../../../../src/core/persisted-lists.js";
import { encodeListFile, type Seal } from "../../../../src/features/kept-lists/list-file.js";

/** The text, its content without times, and how many steps it took; undefined where it is not written. */
export function encodedAtOnce(server: PersistedServer, seal: Seal) {
  const encoding = encodeListFile(server, "1.2.3", seal);
  for (let steps = 1; ; steps += 1) {
    const { done, value } = encoding.next();
    if (done !== true) continue;
    return value && { text: value.text.join(""), content: value.content, steps };
  }
}
