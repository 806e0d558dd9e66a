/** The features of this build, in the order in which their layers stand within a slot. */
import type { Feature } from "../cli/feature.js";
import { absentServers } from "./absent-servers/feature.js";
import { admin } from "./admin/feature.js";
import { audit } from "./audit/feature.js";
import { authorizationServer } from "./authorization-server/feature.js";
import { cluster } from "./cluster/feature.js";
import { flow } from "./flow/feature.js";
import { keptLists } from "./kept-lists/feature.js";
import { openapi } from "./openapi/feature.js";
import { ownSecrets } from "./own-secrets/feature.js";
import { packages } from "./packages/feature.js";
import { personPage } from "./person-page/feature.js";
import { policy } from "./policy/feature.js";
import { results } from "./results/feature.js";
import { sandbox } from "./sandbox/feature.js";
import { scan } from "./scan/feature.js";
import { schemaChecks } from "./schema-checks/feature.js";
import { signIn } from "./sign-in/feature.js";
import { strip } from "./strip/feature.js";
import { tokenCounts } from "./token-counts/feature.js";
import { toolDefinitions } from "./tool-definitions/feature.js";
import { toolSearch } from "./tool-search/feature.js";
import { tracing } from "./tracing/feature.js";
import { trust } from "./trust/feature.js";
import { vault } from "./vault/feature.js";
import { workers } from "./workers/feature.js";

/** Each is one folder and one line. */
export const FEATURES: readonly Feature[] = [
  admin,
  audit,
  authorizationServer,
  cluster,
  keptLists,
  openapi,
  ownSecrets,
  packages,
  schemaChecks,
  signIn,
  tokenCounts,
  toolSearch,
  toolDefinitions,
  results,
  absentServers,
  scan,
  tracing,
  personPage,
  policy,
  flow,
  trust,
  strip,
  vault,
  workers,
  sandbox,
];
