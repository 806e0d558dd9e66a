/** The outcome of a call: its content as text, or the error. */
import { textOf } from "../format.js";
import type { Outcome } from "../mcp/client.js";
import type { Json } from "../mcp/json.js";
import { Badge } from "../ui/badge.js";
import { JsonBlock } from "../ui/json-block.js";
import { TextBox } from "../ui/text-box.js";

/** `took`: a time with its unit. */
export function CallOutcome({ outcome, took }: { readonly outcome: Outcome; readonly took: string }) {
  if (outcome.kind === "given_up")
    return <p class="outcome quiet">You gave up the call; its question has no answer.</p>;
  if (outcome.kind === "error") {
    return (
      <section class="outcome" aria-label="Result">
        <p>
          <Badge tone="bad">{`error ${outcome.code}`}</Badge> <span class="quiet">{took}</span>
        </p>
        <p class="error">{outcome.message}</p>
      </section>
    );
  }
  const { content, structuredContent, isError } = outcome.result;
  const blocks = Array.isArray(content) ? (content as readonly Json[]) : [];
  return (
    <section class="outcome" aria-label="Result">
      <p>
        <Badge tone={isError === true ? "bad" : "good"}>{isError === true ? "tool error" : "ok"}</Badge>{" "}
        <span class="quiet">{took}</span>
      </p>
      {blocks.map((block, at) => (
        // Content blocks have no identity.
        <Block key={at} block={block} />
      ))}
      {structuredContent !== undefined && (
        <details>
          <summary>Structured content</summary>
          <JsonBlock value={structuredContent} label="Structured content" />
        </details>
      )}
      {blocks.length === 0 && structuredContent === undefined && (
        <p class="quiet">The result has no content.</p>
      )}
    </section>
  );
}

function Block({ block }: { readonly block: Json }) {
  const { type, text } = block;
  if (type === "text" && typeof text === "string") {
    return <TextBox label="Text of the result">{text}</TextBox>;
  }
  // Images and audio are not shown: the page's CSP only allows content from the gateway.
  if (typeof block.data === "string") {
    const bytes = Math.round((block.data.length * 3) / 4);
    return (
      <p class="quiet">{`${textOf(type)}, ${textOf(block.mimeType) || "of no type"}, ${bytes} bytes`}</p>
    );
  }
  return <JsonBlock value={block} label={`Content of type ${String(type)}`} />;
}
