/** The features of this build, in the order in which their layers stand within a slot. */
import type { Feature } from "../cli/feature.js";
import { audit } from "./audit/feature.js";
import { keptLists } from "./kept-lists/feature.js";
import { schemaChecks } from "./schema-checks/feature.js";
import { tracing } from "./tracing/feature.js";

/** Each is one folder and one line. */
export const FEATURES: readonly Feature[] = [audit, keptLists, schemaChecks, tracing];
