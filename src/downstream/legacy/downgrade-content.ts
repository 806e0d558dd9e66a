/** Content blocks that a host's revision does not know, said in words it does know. */
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import type { Revision } from "./revision.js";

/** Whether hosts of `revision` know every kind of block there is. */
export const knowsAllBlocks = (revision: Revision): boolean => revision.resourceLinks && revision.audio;

/**
 * One block or a list of them, with the unknown kinds as text. What is no block is left alone, and the very same
 * value comes back where nothing had to change.
 */
export function downgradeBlocks(content: unknown, revision: Revision): unknown {
  if (!Array.isArray(content)) return downgradeBlock(content, revision);
  const blocks = content.map((block: unknown) => downgradeBlock(block, revision));
  return blocks.some((block, at) => block !== content[at]) ? blocks : content;
}

function downgradeBlock(block: unknown, revision: Revision): unknown {
  if (!isObject(block)) return block;
  if (block.type === "resource_link" && !revision.resourceLinks) return textBlock(block, linkText(block));
  if (block.type === "audio" && !revision.audio) return textBlock(block, audioText(block));
  return block;
}

/** Annotations and `_meta` say as much about the text as they did about the block. */
function textBlock(block: JsonObject, text: string): JsonObject {
  const { annotations, _meta } = block;
  return {
    type: "text",
    text,
    ...(annotations !== undefined && { annotations }),
    ...(_meta !== undefined && { _meta }),
  };
}

function linkText(link: JsonObject): string {
  const name = stringAt(link, "title") ?? stringAt(link, "name");
  const description = stringAt(link, "description");
  const uri = stringAt(link, "uri") ?? "";
  const line = name === undefined ? `Resource: ${uri}` : `Resource ${name}: ${uri}`;
  return description === undefined ? line : `${line}\n${description}`;
}

function audioText(audio: JsonObject): string {
  const kind = stringAt(audio, "mimeType") ?? "audio";
  const bytes = Math.floor(((stringAt(audio, "data")?.length ?? 0) * 3) / 4);
  return `[Audio (${kind}, about ${bytes} bytes) was left out: this client's protocol revision has no audio.]`;
}
