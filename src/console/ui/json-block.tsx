/** JSON as indented text, in colours. */
import { TextBox } from "./text-box.js";

/** Longer texts are truncated, because the page would stall. */
const LONGEST = 200_000;
const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Shows any value. */
export function JsonBlock({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = JSON.stringify(value, null, 2) ?? "";
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}\n… cut` : text;
  return <TextBox label={label}>{coloured(shown)}</TextBox>;
}

function coloured(text: string) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string, colon] = match;
    parts.push(text.slice(at, match.index));
    const kind = string === undefined ? "literal" : colon === undefined ? "string" : "key";
    parts.push(
      <span key={match.index} class={`json-${kind}`}>
        {whole}
      </span>,
    );
    at = match.index + whole.length;
  }
  return [...parts, text.slice(at)];
}
