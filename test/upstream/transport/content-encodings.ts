/** The forms in which a server may compress its responses. */
import type { ServerResponse } from "node:http";
import * as zlib from "node:zlib";

const { gzipSync, deflateSync, deflateRawSync, brotliCompressSync } = zlib;
const { zstdCompressSync } = zlib as unknown as { zstdCompressSync?: (bytes: Buffer) => Buffer };

type Compress = (bytes: Buffer) => Buffer;
/** The default quality takes seconds for some megabytes. */
export const brotli: Compress = (bytes) =>
  brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } });
export const FORMS: readonly (readonly [string, Compress])[] = [
  ["gzip", gzipSync],
  ["GZip", gzipSync],
  ["x-gzip", gzipSync],
  ["br", brotli],
  ["deflate", deflateSync],
  ["deflate", deflateRawSync],
  ["gzip, br", (bytes) => brotli(gzipSync(bytes))],
  ["identity, DEFLATE ,gzip", (bytes) => gzipSync(deflateRawSync(bytes))],
  ...(zstdCompressSync === undefined ? [] : ([["zstd", zstdCompressSync]] as const)),
];

export const send = (
  to: ServerResponse,
  encoding: string,
  body: Buffer,
  type = "application/json",
  status = 200,
) => {
  to.writeHead(status, { "content-type": type, "content-encoding": encoding }).end(body);
};
