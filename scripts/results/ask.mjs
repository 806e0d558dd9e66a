/** Questions about a kept result, asked in steps: with `read_result`, or with `resources/read`. */

/** A question that a script could not answer. */
export class Unanswered extends Error {
  name = "Unanswered";
}

/** What a model reads of a result. */
export const readableOf = ({ content = [], structuredContent }) =>
  [
    ...content.map(({ text, type }) => (typeof text === "string" ? text : type)),
    ...(structuredContent === undefined ? [] : [JSON.stringify(structuredContent)]),
  ].join("\n");

/** The id that a preview names; undefined if it is the whole result. */
export const idIn = ({ content = [] }) =>
  content.find(({ uri }) => uri?.startsWith("cardea-result://"))?.uri.slice("cardea-result://".length);

/** Characters of the JSON that a model receives, without images. */
export const sizeOf = ({ content, structuredContent }) =>
  JSON.stringify({ content, structuredContent }, (key, value) => (key === "data" ? "" : value)).length;

/** The two ways to read on. Each resolves to the text that a model reads. */
export const WAYS = {
  read_result: async (request, id, query) => {
    const result = await request("tools/call", { name: "read_result", arguments: { id, ...query } });
    if (result.isError) throw new Unanswered(readableOf(result));
    return readableOf(result);
  },
  "resources/read": async (request, id, query) => {
    const parameters = new URLSearchParams(
      Object.entries(query).map(([name, value]) => [name, String(value)]),
    );
    const uri = `cardea-result://${id}${parameters.size === 0 ? "" : `?${parameters}`}`;
    const { contents } = await request("resources/read", { uri });
    return contents.map(({ text }) => text).join("\n");
  },
};

/** @returns the number of steps. @throws Unanswered with what was read last */
export async function asked(request, way, { id, preview, question: { ask, steps, answer } }) {
  if (answer.test(preview)) throw new Unanswered(`the preview answers "${ask}"`);
  let text = preview;
  for (const step of steps)
    text = await WAYS[way](request, id, typeof step === "function" ? step(text) : step);
  if (!answer.test(text)) throw new Unanswered(`"${ask}" by ${way}:\n${text.slice(0, 2_000)}`);
  return steps.length;
}
