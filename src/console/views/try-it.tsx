/** Calls a tool: the form, the call as the operator, and its result. */
import { useMemo, useRef, useState } from "preact/hooks";
import { msOf } from "../format.js";
import { callTool, type Outcome } from "../mcp/client.js";
import { emptyDraft, fieldsOf, fill } from "../mcp/form.js";
import type { Json } from "../mcp/json.js";
import { withToken } from "../ui/act.js";
import { Icon } from "../ui/icon.js";
import { CallOutcome } from "./call-outcome.js";
import { askQuestion } from "./question-dialog.js";
import { SchemaForm } from "./schema-form.js";

interface TryItProps {
  readonly name: string;
  readonly inputSchema: unknown;
}

/** The call is made as the principal `operator`, and passes the whole pipeline: rules, limits, audit. */
export function TryIt({ name, inputSchema }: TryItProps) {
  const fields = useMemo(() => fieldsOf(inputSchema), [inputSchema]);
  const [draft, setDraft] = useState(() => emptyDraft(fields));
  const [json, setJson] = useState<string>();
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const call = useCall(name, inputSchema);

  const run = async (): Promise<void> => {
    const filled = json === undefined ? fill(fields, draft) : readJson(json);
    setFaults(filled.faults);
    if (Object.keys(filled.faults).length === 0) await call.run(filled.value);
  };
  const toggleJson = (): void =>
    setJson(json === undefined ? JSON.stringify(fill(fields, draft).value, null, 2) : undefined);

  return (
    <form
      class="try-it"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        run().catch((error: Error) => call.fail(error.message));
      }}
    >
      {json === undefined ? (
        <SchemaForm fields={fields} draft={draft} faults={faults} onChange={setDraft} />
      ) : (
        <JsonInput json={json} fault={faults[""]} onInput={setJson} />
      )}
      <div class="buttons">
        <button type="submit" class="main" disabled={call.isRunning}>
          <Icon name="play" />
          {call.isRunning ? "Calling …" : "Call"}
        </button>
        {call.isRunning && (
          <button type="button" onClick={call.cancel}>
            Cancel
          </button>
        )}
        <button type="button" class="plain" onClick={toggleJson}>
          {json === undefined ? "As JSON" : "As a form"}
        </button>
        <span class="quiet small">as the principal operator</span>
      </div>
      <Progress call={call} />
    </form>
  );
}

/** The last call, or the one that runs. */
interface CallState {
  readonly isRunning: boolean;
  readonly outcome: { readonly outcome: Outcome; readonly took: number } | undefined;
  /** Why there is none. */
  readonly trouble: string | undefined;
  /** What it has reported; the last ten. */
  readonly notices: readonly string[];
  run(this: void, args: Json): Promise<void>;
  cancel(this: void): void;
  fail(this: void, message: string): void;
}

function useCall(name: string, inputSchema: unknown): CallState {
  const [outcome, setOutcome] = useState<CallState["outcome"]>();
  const [trouble, setTrouble] = useState<string>();
  const [notices, setNotices] = useState<readonly string[]>([]);
  const running = useRef<AbortController | undefined>(undefined);
  const [isRunning, setRunning] = useState(false);

  const run = async (args: Json): Promise<void> => {
    const stop = new AbortController();
    running.current = stop;
    setRunning(true);
    setTrouble(undefined);
    setOutcome(undefined);
    setNotices([]);
    const begun = performance.now();
    const { signal } = stop;
    const onNotice = (text: string): void => setNotices((before) => [...before.slice(-9), text]);
    try {
      const outcome = await withToken(() =>
        callTool({
          ...{ name, args, inputSchema, signal, onNotice },
          answer: (request, key) => askQuestion(request, key, signal),
        }),
      );
      if (outcome !== undefined) setOutcome({ outcome, took: performance.now() - begun });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      setTrouble(signal.aborted ? "The call was cancelled." : message);
    } finally {
      setRunning(false);
    }
  };
  return {
    isRunning,
    outcome,
    trouble,
    notices,
    run,
    cancel: () => running.current?.abort(),
    fail: setTrouble,
  };
}

interface JsonInputProps {
  readonly json: string;
  readonly fault: string | undefined;
  readonly onInput: (json: string) => void;
}

function JsonInput({ json, fault, onInput }: JsonInputProps) {
  return (
    <label class="field">
      <span class="label">Arguments as JSON</span>
      <textarea
        rows={8}
        spellcheck={false}
        value={json}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {fault !== undefined && <span class="bad small">{fault}</span>}
    </label>
  );
}

/** What the call has reported, and its end. */
function Progress({ call: { notices, trouble, outcome } }: { readonly call: CallState }) {
  return (
    <div aria-live="polite">
      {notices.length > 0 && (
        <ul class="notices">
          {notices.map((notice, at) => (
            // Notices have no identity.
            <li key={at}>{notice}</li>
          ))}
        </ul>
      )}
      {trouble !== undefined && <p class="error">{trouble}</p>}
      {outcome !== undefined && <CallOutcome outcome={outcome.outcome} took={msOf(outcome.took)} />}
    </div>
  );
}

function readJson(text: string): { readonly value: Json; readonly faults: Readonly<Record<string, string>> } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { value: value as Json, faults: {} };
  } catch {
    // Shown below.
  }
  return { value: {}, faults: { "": "The arguments must be one JSON object." } };
}
