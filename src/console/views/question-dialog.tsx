/** Dialogs for questions of a server, or of the gateway itself, within a call. */
import { useMemo, useState } from "preact/hooks";
import { textOf } from "../format.js";
import type { InputRequest } from "../mcp/client.js";
import { emptyDraft, fieldsOf, fill } from "../mcp/form.js";
import type { Json } from "../mcp/json.js";
import { openDialog } from "../state/dialogs.js";
import { SchemaForm } from "./schema-form.js";

type Close = (response?: Json) => void;

/** Opens the dialog. @returns the response for the server; undefined cancels the call */
export function askQuestion(
  { method, params = {} }: InputRequest,
  key: string,
  signal: AbortSignal,
): Promise<Json | undefined> {
  if (method === "roots/list") return Promise.resolve({ roots: [] });
  const draw = (close: Close) => {
    if (method === "sampling/createMessage") return <SamplingQuestion params={params} close={close} />;
    if (params.mode === "url") return <UrlQuestion params={params} close={close} />;
    return <FormQuestion params={params} isApproval={key === APPROVAL} close={close} />;
  };
  return openDialog<Json>(draw, { signal, isDocked: true });
}

/** The key of the gateway's own question before a call. */
const APPROVAL = "cardea/approval";

interface QuestionProps {
  readonly params: Json;
  readonly close: Close;
}

function FormQuestion({ params, isApproval, close }: QuestionProps & { readonly isApproval: boolean }) {
  const fields = useMemo(() => fieldsOf(params.requestedSchema), [params]);
  const [draft, setDraft] = useState(() => emptyDraft(fields));
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const accept = (): void => {
    const filled = fill(fields, draft);
    setFaults(filled.faults);
    if (Object.keys(filled.faults).length === 0) close({ action: "accept", content: filled.value });
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        accept();
      }}
    >
      <h2>{isApproval ? "Approval needed" : "The server asks"}</h2>
      <p class="message">{textOf(params.message)}</p>
      {fields.length > 0 && <SchemaForm fields={fields} draft={draft} faults={faults} onChange={setDraft} />}
      <Answers close={close} accept="Accept" />
    </form>
  );
}

function UrlQuestion({ params, close }: QuestionProps) {
  const url = textOf(params.url);
  const isWeb = /^https?:\/\//i.test(url);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        close({ action: "accept" });
      }}
    >
      <h2>The server asks you to visit a page</h2>
      <p class="message">{textOf(params.message)}</p>
      <p class="url">
        <code>{url}</code>
      </p>
      {isWeb ? (
        <p>
          <a class="button" href={url} target="_blank" rel="noopener noreferrer">
            Open the page
          </a>
        </p>
      ) : (
        <p class="bad">This is no web page; it is not opened.</p>
      )}
      <p class="quiet">Look at the address before you open it. Accept when you are done there.</p>
      <Answers close={close} accept="Accept" />
    </form>
  );
}

function SamplingQuestion({ params, close }: QuestionProps) {
  const [text, setText] = useState("");
  const messages = Array.isArray(params.messages) ? (params.messages as readonly Json[]) : [];
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        close({
          role: "assistant",
          content: { type: "text", text },
          model: "operator",
          stopReason: "endTurn",
        });
      }}
    >
      <h2>The server asks a model</h2>
      <p class="quiet">No model is here: answer in its place, or give up the call.</p>
      {typeof params.systemPrompt === "string" && <p class="message quiet">{params.systemPrompt}</p>}
      {messages.map(({ role, content }, at) => (
        // Messages have no identity.
        <p key={at} class="message">
          <strong>{String(role)}:</strong> {contentText(content)}
        </p>
      ))}
      <label class="field">
        <span class="label">Your answer</span>
        <textarea rows={4} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <div class="buttons">
        <button type="button" onClick={() => close()}>
          Give up the call
        </button>
        <button type="submit" class="main">
          Answer
        </button>
      </div>
    </form>
  );
}

function Answers({ close, accept }: { readonly close: Close; readonly accept: string }) {
  return (
    <div class="buttons">
      <button type="button" class="plain" onClick={() => close()}>
        Give up the call
      </button>
      <span class="space" />
      <button type="button" onClick={() => close({ action: "decline" })}>
        Decline
      </button>
      <button type="submit" class="main">
        {accept}
      </button>
    </div>
  );
}

function contentText(content: unknown): string {
  if (Array.isArray(content)) return content.map(contentText).join("\n");
  const { type, text } = (content ?? {}) as Json;
  return typeof text === "string" ? text : `(${String(type)})`;
}
