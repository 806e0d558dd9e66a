/** How is the large result of a call to an API written as JSON? In steps; its structured content is the text that the API sent. */
import { LARGE_BYTES, type Steps } from "../../runtime/cooperative-yield.js";
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";

/**
 * The JSON text of `{ resultType: "complete", ...result }`; undefined where its first text is not long, or it is of another
 * form. A note may follow the text.
 */
export function* largeResultText(result: JsonObject): Steps<string | undefined> {
  const { content, structuredContent, isError, ...others } = result;
  const [block, ...more] = Array.isArray(content) ? (content as readonly unknown[]) : [];
  const words = isObject(block) && block.type === "text" ? (stringAt(block, "text") ?? "") : "";
  if (words.length < LARGE_BYTES || more.length > 1 || Object.keys(others).length > 0) return undefined;
  const pieces = ['{"resultType":"complete","content":[{"type":"text","text":"'];
  for (let at = 0; at < words.length; ) {
    const end = endOfPiece(words, at + LARGE_BYTES);
    pieces.push(writeJson(words.slice(at, end)).slice(1, -1));
    at = end;
    yield;
  }
  pieces.push('"}', ...more.map((note) => `,${writeJson(note)}`), "]");
  if (structuredContent !== undefined) pieces.push(`,"structuredContent":${words}`);
  if (isError === true) pieces.push(',"isError":true');
  pieces.push("}");
  return pieces.join("");
}

/** Between two characters, not within a surrogate pair. */
function endOfPiece(words: string, end: number): number {
  const last = words.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end + 1 : end;
}
