/**
 * State shared by all conversations with one scripted server: its ledger, the subscribers of its resources, and its
 * gates.
 */

/** @param {(entry: object) => void} write takes an entry of the ledger */
export function createWorld(write) {
  /** Called with `(uri)` when a resource is written to. */
  const followers = new Set();
  const gates = new Map();
  const visited = new Set();
  return {
    note: (event, details = {}) => write({ event, pid: process.pid, ...details }),
    followers,
    touch: (uri) => {
      for (const tell of followers) tell(uri);
    },
    /** Ends the streams of changes that are open. */
    hangUps: new Set(),
    visited,
    /** States that were brought back: a server that wants each of them once must remember them. */
    spent: new Set(),
    gate(label) {
      if (!gates.has(label)) {
        let open = () => {};
        const opened = new Promise((resolve) => {
          open = resolve;
        });
        gates.set(label, { opened, open });
      }
      return gates.get(label);
    },
  };
}

/** Whether a subscriber of `followed` is notified of `uri`: the resource itself, or a part of it. */
export const covers = (followed, uri) => uri === followed || uri.startsWith(`${followed}/`);
