/** A Dockerfile as its instructions; as much of the format as is used here. */

export interface Instruction {
  readonly word: string;
  readonly rest: string;
}

/** The stages, each as its instructions, `FROM` first. */
export function stagesOf(text: string): readonly (readonly Instruction[])[] {
  const stages: Instruction[][] = [];
  for (const line of text.replace(/\\\n/g, " ").split("\n")) {
    const [, word = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (word === "") continue;
    if (word === "FROM") stages.push([]);
    stages.at(-1)?.push({ word, rest });
  }
  return stages;
}

/** The last one counts. */
export const last = (stage: readonly Instruction[], word: string): string | undefined =>
  stage.findLast((instruction) => instruction.word === word)?.rest;

/** What is copied into the stage from the folder it is built in. */
export const copied = (stage: readonly Instruction[]): readonly string[] =>
  stage
    .filter(({ word, rest }) => word === "COPY" && !rest.startsWith("--from="))
    .flatMap(({ rest }) => rest.split(/\s+/).slice(0, -1));
