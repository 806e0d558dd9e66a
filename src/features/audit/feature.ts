/** The audit log: who did what, as lines of a hash chain (docs/audit.md). With `required` no call runs without its line. */
import type { Feature, FeatureContext } from "../../cli/feature.js";
import type { FeatureGauge, GaugeReading, OpenFeature, Problem } from "../../core/feature.js";
import { auditedReplies, auditRequired } from "./audited-calls.js";
import { COMMANDS } from "./cli/commands.js";
import type { AuditLog } from "./types.js";

const UP: FeatureGauge = {
  name: "cardea_audit_up",
  help: "Whether the audit log can be written (1) or not (0).",
  merge: "min",
};
const LOST: FeatureGauge = {
  name: "cardea_audit_lost_records",
  help: "Records lost while the audit log could not be written.",
};
const SINK_UP: FeatureGauge = {
  name: "cardea_audit_sink_up",
  help: "Whether the sink of the audit log accepts lines (1) or not (0).",
  merge: "min",
};
const UNSENT: FeatureGauge = {
  name: "cardea_audit_sink_unsent_lines",
  help: "Lines of the audit log that its sink has not accepted yet.",
};

/** Is there with the section `audit`. */
export const audit: Feature = {
  name: "audit",
  loadSections: async () => [(await import("./section.js")).section],
  commands: COMMANDS,
  gauges: [UP, LOST, SINK_UP, UNSENT],
  async open(
    { features: { audit: settings } },
    { logger, redact, version, configDigest, worker }: FeatureContext,
  ) {
    if (settings === undefined) return undefined;
    const { openAuditLog } = await import("./open-audit-log.js");
    return featureOf(await openAuditLog(settings, { logger, redact, version, configDigest, worker }));
  },
};

/** The log, as the gateway uses it. */
const featureOf = (log: AuditLog): OpenFeature => ({
  name: "audit",
  callLayers: () => ({
    reply: auditedReplies(log),
    ...(log.required && { mustRecord: auditRequired(log) }),
  }),
  onRecord: log.call,
  onEvent(event) {
    if (event.kind === "reload" && event.outcome === "ok") log.secretsChanged();
    log.event(event);
  },
  readings: [
    { gauge: UP, read: () => (log.problem === undefined ? 1 : 0) },
    { gauge: LOST, read: () => log.lost },
    ...(log.sink === undefined ? [] : readingsOf(log.sink)),
  ],
  problems: () => problemsOf(log),
  close: ({ isImmediate }) => log.close(isImmediate),
});

const readingsOf = (sink: NonNullable<AuditLog["sink"]>): readonly GaugeReading[] => [
  { gauge: SINK_UP, read: () => (sink.problem === undefined ? 1 : 0) },
  { gauge: UNSENT, read: () => sink.unsent },
];

const problemsOf = ({ problem, sink, required }: AuditLog): readonly Problem[] => [
  ...(problem === undefined
    ? []
    : [{ text: `the audit log cannot be written: ${problem}`, blocks: required }]),
  ...(sink?.problem === undefined
    ? []
    : [{ text: `lines of the audit log are not accepted: ${sink.problem}`, blocks: false }]),
];
