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
  const [outcome, setOutcome] = useState<{ readonly outcome: Outcome; readonly took: number }>();
  const [trouble, setTrouble] = useState<string>();
  const [notices, setNotices] = useState<readonly string[]>([]);
  const running = useRef<AbortController | undefined>(undefined);
  const [isRunning, setRunning] = useState(false);

  const run = async (): Promise<void> => {
    const filled = json === undefined ? fill(fields, draft) : readJson(json);
    setFaults(filled.faults);
    if (Object.keys(filled.faults).length > 0) return;
    const stop = new AbortController();
    running.current = stop;
    setRunning(true);
    setTrouble(undefined);
    setOutcome(undefined);
    setNotices([]);
    const begun = performance.now();
    try {
      const { signal } = stop;
      const outcome = await withToken(() =>
        callTool({
          name,
          args: filled.value,
          inputSchema,
          signal,
          answer: (request) => askQuestion(request, signal),
          onNotice: (text) => setNotices((before) => [...before.slice(-9), text]),
        }),
      );
      if (outcome !== undefined) setOutcome({ outcome, took: performance.now() - begun });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      setTrouble(stop.signal.aborted ? "The call was cancelled." : message);
    } finally {
      setRunning(false);
    }
  };

  return (
    <form
      class="try-it"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        run().catch((error: Error) => setTrouble(error.message));
      }}
    >
      {json === undefined ? (
        <SchemaForm fields={fields} draft={draft} faults={faults} onChange={setDraft} />
      ) : (
        <label class="field">
          <span class="label">Arguments as JSON</span>
          <textarea
            rows={8}
            spellcheck={false}
            value={json}
            onInput={(event) => setJson(event.currentTarget.value)}
          />
          {faults[""] !== undefined && <span class="bad small">{faults[""]}</span>}
        </label>
      )}
      <div class="buttons">
        <button type="submit" class="main" disabled={isRunning}>
          <Icon name="play" />
          {isRunning ? "Calling …" : "Call"}
        </button>
        {isRunning && (
          <button type="button" onClick={() => running.current?.abort()}>
            Cancel
          </button>
        )}
        <button
          type="button"
          class="plain"
          onClick={() =>
            setJson(json === undefined ? JSON.stringify(fill(fields, draft).value, null, 2) : undefined)
          }
        >
          {json === undefined ? "As JSON" : "As a form"}
        </button>
        <span class="quiet small">as the principal operator</span>
      </div>
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
    </form>
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
