/** The response schemas of the admin API: the OpenAPI document is written from them, and the types of rows are inferred. */
import { z } from "zod";
import { UPSTREAM_STATES } from "../../core/upstream.js";
import { transport, typed } from "../../http/page-schema.js";

const text = z.string();
const count = z.int().min(0);
const ms = z.number().min(0);
/** ISO 8601. */
const time = z.iso.datetime();
/** With several workers: the number of the process. */
const worker = count.optional();
/** JSON chosen by a server or a host. */
const anything = z.looseObject({});

const workerRow = z.object({ worker: count, pid: count.optional(), ready: z.boolean(), restarts: count });
type WorkerRow = z.output<typeof workerRow>;

/** The response to a readiness probe. */
export const readiness = z.object({
  ready: z.boolean(),
  reasons: z.array(text),
  starting: z.array(text).optional(),
});

/** `GET /api/v1/status`. */
export const status = readiness.extend({
  version: text,
  node: text,
  pid: count,
  uptimeSeconds: count,
  config: text.optional(),
  configDigest: text.optional(),
  url: text.optional(),
  sessions: count,
  openQuestions: count,
  servers: z.array(typed<object>(anything)),
  workers: z.array(typed<WorkerRow>(anything)).optional(),
});

/** `GET /api/v1/servers`. */
export const servers = z.array(
  z.object({
    name: text,
    transport,
    state: z.enum(UPSTREAM_STATES),
    inUse: z.boolean(),
    revisions: z.array(text),
    required: z.boolean(),
    lastError: text.optional(),
    problems: z.array(z.object({ file: text, line: count, column: count, message: text })).optional(),
    serverInfo: anything.optional(),
    circuit: z.enum(["closed", "half_open", "open"]),
    inFlight: count,
    waiting: count,
    calls: count,
    latencyMs: z.object({ p50: ms, p95: ms }).optional(),
    restarts: count,
    startedAt: time.optional(),
    failingSince: time.optional(),
    nextTryAt: time.optional(),
    stderr: z.array(text).optional(),
    stderrAt: z.array(time).optional(),
    malformed: z.array(typed<object>(anything)),
    signIn: z
      .object({
        perPerson: z.boolean(),
        needed: z.array(z.object({ principal: text, since: time.optional(), count: count.optional() })),
      })
      .optional(),
    misfits: z.array(z.object({ tool: text, reason: text, count })).optional(),
  }),
);

/** `GET /api/v1/problems`: what is wrong now, errors first, then the oldest. */
export const problems = z.array(
  z.object({
    id: text,
    kind: z.enum([
      ...(["unavailable", "circuit_open", "misconfigured", "sign_in"] as const),
      ...(["error_rate", "timeouts", "slow", "busy", "malformed", "questions"] as const),
      ...(["ineffective", "refusals", "reload", "gateway"] as const),
    ]),
    severity: z.enum(["error", "warning", "note"]),
    server: text.optional(),
    rule: text.optional(),
    principal: text.optional(),
    text,
    since: time.optional(),
    count: count.optional(),
    figures: z.object({ failed: count, calls: count, windowSeconds: count }).optional(),
    actions: z.array(
      z.object({
        kind: z.enum(["restart", "sign_in", "check"]),
        label: text,
        path: text.optional(),
        body: typed<object>(anything).optional(),
        command: text.optional(),
      }),
    ),
  }),
);

const entries = z.array(z.object({ name: text, server: text, title: text.optional() }));
/** `GET /api/v1/catalog`. */
export const catalog = z.object({
  tools: entries,
  prompts: entries,
  resources: entries,
  resourceTemplates: entries,
});

const outcomeOfServer = typed<object>(z.looseObject({ server: text, ok: z.boolean() }));
/** `GET /api/v1/lists`. */
export const lists = z.object({
  entries: z.array(
    z.object({
      server: text,
      item: anything,
      calls: z
        .object({
          effect: z.enum(["allow", "deny", "approve", "depends"]),
          rule: text.optional(),
          message: text.optional(),
        })
        .optional(),
    }),
  ),
  missing: z.array(outcomeOfServer),
});

/** `GET /api/v1/sessions`. */
export const sessions = z.array(
  z.object({
    handle: text.optional(),
    principal: text,
    era: z.enum(["legacy", "modern"]),
    client: text.optional(),
    scope: text,
    revision: text.optional(),
    transport: z.enum(["http", "pipe"]).optional(),
    openedAt: time.optional(),
    ageSeconds: count,
    idleSeconds: count,
    inFlight: count.optional(),
    openQuestions: count.optional(),
    worker,
  }),
);

/** `GET /api/v1/questions`. */
export const questions = z.array(
  z.object({
    server: text,
    kind: z.enum(["sampling", "elicitation", "roots", "approval"]),
    principal: text,
    since: time,
    worker,
  }),
);

/** A row of `GET /api/v1/calls`, and an event of its stream; `at` and the members of `ms` are in ms. */
export const call = z.object({
  id: count,
  at: count,
  principal: text,
  host: text,
  method: text,
  target: text,
  server: text,
  outcome: text,
  rule: text.optional(),
  decision: text.optional(),
  traceId: text.optional(),
  ms: z.object({ total: ms, queue: ms, policy: ms, upstream: ms, input: ms }),
  arguments: text.optional(),
  result: text.optional(),
  worker,
});

/** `GET /api/v1/calls/running`. */
export const runningCalls = z.array(
  z.object({
    id: count,
    startedAt: time,
    principal: text,
    method: text,
    target: text,
    server: text,
    worker,
  }),
);

const column = z.array(z.number());
/** `GET /api/v1/history`: columns of equal length. */
export const history = z.object({
  step: count,
  at: column,
  calls: column,
  errors: column,
  p50: column,
  p95: column,
  waits: column,
  /** When recording began, in ms since 1970. */
  since: count.optional(),
});

/** `GET /api/v1/tools/disabled`. */
export const disabledTools = z.object({ tools: z.array(text) });
/** `GET /api/v1/config`. */
export const config = typed<unknown>(z.looseObject({ listen: anything, servers: z.array(anything) }));
/** `GET /api/v1/explain`. */
export const explanation = typed<object>(anything);
/** `GET /api/v1/cluster`. */
export const cluster = z.object({
  replicas: z.array(
    z.object({
      id: text,
      url: text.optional(),
      version: text,
      isLeaving: z.boolean(),
      startedAt: time.optional(),
      isOwn: z.boolean(),
    }),
  ),
  storeIsUp: z.boolean().optional(),
});
/** `GET /api/v1/workers`. */
export const workers = z.array(workerRow);
/** `GET /api/v1`. */
export const pages = z.object({ pages: z.array(text), actions: z.array(text) });
/** `POST /api/v1/console/link`. */
export const consoleLink = z.object({ code: text, expiresIn: count });
/** The body of `POST /api/v1/console/unlock`, and its response. */
export const consoleCode = z.object({ code: text });
export const pageToken = z.object({ token: text });
/** `me`: who asks, and where the console signs a person in. */
export const me = z.object({
  principal: text.optional(),
  role: z.enum(["operator", "viewer", "person"]).optional(),
  signIn: z.object({ issuer: text, resource: text }).optional(),
});
/** The result of a tool call. */
export const reply = anything;

/** The body of every error. */
export const problem = z.object({ error: text });
/** The response of a successful action. */
export const done = z.object({ done: z.literal(true) });
