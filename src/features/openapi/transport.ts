/** An HTTP API that an OpenAPI document describes, as the config says it. */
import type { FeatureTransport } from "../../config/config.js";

/** The word of `type`. */
export const TYPE = "openapi";

/** An HTTP API that an OpenAPI document describes. */
export interface OpenApiTransport extends FeatureTransport {
  readonly kind: typeof TYPE;
  readonly document:
    | { readonly url: string }
    /** An absolute path, and the SHA-256 of the file when the config was read: another digest is a change. */
    | {
        readonly file: string;
        readonly digest: string;
        /** The files that the config came from, which the document may not refer to; absolute paths. */
        readonly configFiles?: readonly string[];
      };
  /** Absent: the document's first server. */
  readonly baseUrl?: string;
  readonly include?: OperationFilter;
  readonly exclude?: OperationFilter;
}

/** Selects operations by globs over tags and paths, and by methods in lower case. */
export interface OperationFilter {
  readonly tags?: readonly string[] | undefined;
  readonly paths?: readonly string[] | undefined;
  readonly methods?: readonly string[] | undefined;
}

declare module "../../config/config.js" {
  interface FeatureTransports {
    readonly openapi: OpenApiTransport;
  }
}
