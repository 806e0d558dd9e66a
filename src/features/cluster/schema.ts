/** The schema of the section `cluster`: discovery and shared state of replicas. */
import { z } from "zod";

/** `redis:` and `rediss:` (TLS), also for Valkey; a Unix socket as `unix:///path`. */
const STORE_URL = /^(?:rediss?:\/\/[^\s/]+(?:\/\d+)?|unix:\/\/\/\S+)$/;
const PREFIX = /^[\w.:-]{1,64}$/;
const ADDRESS = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+):\d{1,5}$/i;
const PEER_URL = /^https?:\/\/[^\s/?#@]+$/;
const DNS = /^dns:[a-z0-9._-]+(?::\d{1,5})?$/i;

/** The value for editors, which see the text before variables are expanded. */
const text = (pattern: RegExp, error: string) =>
  z
    .string()
    .regex(pattern, { error })
    .meta({ pattern: `${pattern.source}|\\$\\{` });

const file = (sentence: string) => z.string().min(1).exactOptional().describe(sentence);

const certificates = z.strictObject({
  ca: file("A PEM file with the authorities to trust, relative to the config. Default: those of Node."),
  cert: file("A PEM file with the own certificate."),
  key: file("A PEM file with its private key."),
});

const store = z.strictObject({
  url: text(
    STORE_URL,
    'must be an address such as "redis://10.0.0.5:6379" or "rediss://redis.internal:6380/0"',
  ).describe("Redis 6.2, Valkey 7.2, or later. Credentials are in `username` and `password`."),
  username: z.string().min(1).exactOptional().describe("Its ACL user. Default: the default user."),
  password: z.string().min(1).exactOptional().describe("Use a variable."),
  prefix: text(PREFIX, "must be at most 64 of the characters A-Z a-z 0-9 _ . : -")
    .default("cardea")
    .describe("The prefix of all keys and channels. Clusters that share a store need different ones."),
  tls: certificates.exactOptional().describe("Certificates for a `rediss:` address."),
});

const peersWithStore = z.strictObject({
  listen: text(ADDRESS, 'must be an address and a port such as "10.0.0.7:9001"').describe(
    "The address on which this replica listens for requests of other replicas. With `--workers` the second worker takes the next port, and so on.",
  ),
  advertise: text(PEER_URL, 'must be a URL such as "http://10.0.0.7:9001"')
    .exactOptional()
    .describe(
      "The URL under which the others reach it. Default: that of `listen`, which then is no wildcard address.",
    ),
  key: z
    .string()
    .min(16, { error: "must have at least 16 random characters" })
    .exactOptional()
    .describe(
      "The secret with which replicas authenticate each other, the same in all. Use a variable. Default: derived from `keys.state`.",
    ),
  mtls: certificates
    .required()
    .exactOptional()
    .describe(
      "Certificates with which replicas authenticate each other, in addition to the key; `advertise` is an https URL then.",
    ),
});

/** The section `cluster`. */
export const clusterSchema = z.strictObject({
  store: z
    .union([store, z.literal("none")])
    .exactOptional()
    .describe(
      "Where replicas count together and find each other. Without it, or with `none`, sessions are found by `peers`, and limits count on each replica for itself.",
    ),
  peers: z
    .union([
      peersWithStore,
      text(DNS, 'must be "dns:NAME" or "dns:NAME:PORT"').describe(
        "A name whose addresses are the replicas, such as that of a headless Service; the port (default 9001) is that on which each listens for the others.",
      ),
    ])
    .describe("How a request reaches the replica whose session it is for."),
  onOutage: z
    .enum(["share", "closed", "open"])
    .exactOptional()
    .describe(
      "What counts while the store cannot be reached: each replica admits its share of every limit (`share`, the default), calls with a limit are refused (`closed`), or each replica counts for itself (`open`).",
    ),
  adopt: z
    .boolean()
    .exactOptional()
    .describe(
      "Whether another replica takes over the sessions of a dead one, under their ids. Default: true with a store.",
    ),
});
/** The section as written. */
export type ClusterShape = z.infer<typeof clusterSchema>;
