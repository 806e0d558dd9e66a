/** Sockets that read into one piece of memory, and copy out of it what came. */
import type { OnReadOpts, Socket } from "node:net";

const BYTES = 64 * 1024;

/**
 * For `connect`. Node would otherwise take 64 KiB for each answer and give back what it does not fill, and each is one
 * more thing for its collector to look after: half a microsecond a call.
 */
export const SHARED_READ: OnReadOpts = {
  buffer: Buffer.allocUnsafeSlow(BYTES),
  /** Called on the socket. False when nothing more should be read for now. */
  callback(this: Socket, length: number, bytes: Uint8Array): boolean {
    return this.push(Buffer.from(bytes.subarray(0, length)));
  },
};
