/** Writes docs/commands.md from the help of the program (`npm run schema`). */
import { PassThrough } from "node:stream";
import type { CommandContext } from "./command-context.js";
import type { Feature } from "./feature.js";
import { runCommandLine } from "./program.js";

/** Commands with subcommands. */
const SUBCOMMANDS: Readonly<Record<string, readonly string[]>> = {
  key: ["list", "revoke"],
};

/** The page as Markdown. */
export async function commandReference(features: readonly Feature[]): Promise<string> {
  const helpOf = helpWith(features);
  const overview = await helpOf();
  const subcommands = { ...SUBCOMMANDS, ...subcommandsOf(features) };
  const names = [
    ...new Set([...overview.matchAll(/(?: {2}|, )cardea ([a-z]+)/g)].map(([, name = ""]) => name)),
  ];
  const pages = await Promise.all(
    names
      .flatMap((name) => [[name], ...(subcommands[name] ?? []).map((inner) => [name, inner])])
      .map(
        async (words) =>
          `## cardea ${words.join(" ")}\n\n\`\`\`text\n${(await helpOf(...words)).trimEnd()}\n\`\`\`\n`,
      ),
  );
  return [
    "# Command line\n",
    "Written from the program by `npm run schema`. Without an installation each command is `npx cardea …`.\n",
    `\`\`\`text\n${overview.trimEnd()}\n\`\`\`\n`,
    ...pages,
  ].join("\n");
}

/** By the words of their examples. */
function subcommandsOf(features: readonly Feature[]): Readonly<Record<string, readonly string[]>> {
  const found: Record<string, string[]> = {};
  for (const words of features.flatMap(({ commands }) => Object.keys(commands?.examples ?? {}))) {
    const [outer = "", inner] = words.split(" ");
    if (inner !== undefined) found[outer] = [...(found[outer] ?? []), inner];
  }
  return found;
}

/** The output of `cardea WORDS --help`. @throws Error if there is no such command */
const helpWith =
  (features: readonly Feature[]) =>
  async (...words: readonly string[]): Promise<string> => {
    const printed = new PassThrough();
    const context = {
      stdout: printed,
      stderr: printed,
      features,
    } as Partial<CommandContext> as CommandContext;
    const code = await runCommandLine([...words, "--help"], context);
    const text = String(printed.read());
    if (code !== 0) throw new Error(`cardea ${words.join(" ")} --help ended with ${code}: ${text}`);
    return text;
  };
