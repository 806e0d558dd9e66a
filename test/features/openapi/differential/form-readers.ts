/** Foreign readers of queries, forms and JSON: what servers in Express, Rack, PHP, Go and Python make of a request. */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { inRepository } from "../../../support/cardea.js";

/** A request as it came over the wire. */
export interface FormRequest {
  readonly query: string;
  readonly contentType: string;
  readonly body: Buffer;
}

/** What one reader may make of a request; names with their values, which may be lists or objects. */
export type FormReadings = readonly Readonly<Record<string, unknown>>[];

export interface FormReader {
  readonly name: string;
  read(requests: readonly FormRequest[]): Promise<readonly FormReadings[]>;
}

const here = (file: string): string =>
  inRepository(`test/features/openapi/differential/form-readers/${file}`);

/** The program of a reader; undefined, with a clearly visible line in the output, where it is missing. */
function program(name: string, check: readonly string[], remedy: string): boolean {
  const [command = "", ...args] = check;
  if (spawnSync(command, args).status === 0) return true;
  console.warn(
    `\n*** NOT CHECKED: ${name} is missing, so its reading of forms was not compared (${remedy}) ***\n`,
  );
  return false;
}

const outside = (name: string, command: string, args: readonly string[]): FormReader => ({
  name,
  read: async (requests) => {
    const input = requests.map((one) => JSON.stringify({ ...one, body: one.body.toString("base64") }));
    const { status, stdout, stderr } = spawnSync(command, args, {
      input: `${input.join("\n")}\n`,
      encoding: "utf8",
      maxBuffer: 1024 ** 3,
    });
    if (status !== 0) throw new Error(`${name}: ${stderr}`);
    const lines = stdout.trimEnd().split("\n");
    if (lines.length !== requests.length)
      throw new Error(`${name} has read ${lines.length} of ${requests.length}`);
    return lines.map((line) => JSON.parse(line) as FormReadings);
  },
});

/** All readers that are installed; `folder` is for what is compiled. */
export function formReaders(folder: string): readonly FormReader[] {
  const readers: FormReader[] = [expressReader];
  if (
    program(
      "Rack",
      ["ruby", "-e", 'require "rack"; require "rack/method_override"'],
      "apt-get install ruby ruby-rack",
    )
  )
    readers.push(outside("Rack", "ruby", [here("reader.rb")]));
  if (
    program(
      "PHP",
      ["php", "-r", "exit(PHP_VERSION_ID < 80100 || !function_exists('json_encode') ? 1 : 0);"],
      "8.1 or later: apt-get install php-cli",
    )
  )
    readers.push(outside("PHP", "php", [here("reader.php")]));
  if (program("Python", ["python3", "--version"], "apt-get install python3"))
    readers.push(outside("Python", "python3", [here("reader.py")]));
  if (program("Go", ["go", "version"], "apt-get install golang-go")) {
    const built = join(folder, "form-reader");
    const env = { ...process.env, GO111MODULE: "off", GOFLAGS: "", CGO_ENABLED: "0" };
    const { status, stderr } = spawnSync("go", ["build", "-o", built, here("reader.go")], { env });
    if (status !== 0) throw new Error(`go build: ${String(stderr)}`);
    readers.push(outside("Go", built, []));
  }
  return readers;
}

interface Qs {
  parse(text: string, options?: object): Readonly<Record<string, unknown>>;
}
const qs = createRequire(import.meta.url)("qs") as Qs;

/** As `express.urlencoded` calls qs, as `req.query` does, with dots, and without qs. */
const expressReadings = (text: string): FormReadings => {
  const count = text.split("&").length;
  const params = new URLSearchParams(text);
  return [
    qs.parse(text, {
      allowPrototypes: true,
      arrayLimit: Math.max(100, count),
      depth: 32,
      parameterLimit: 1000,
    }),
    qs.parse(text, { allowPrototypes: true }),
    qs.parse(text),
    qs.parse(text, { allowDots: true, decodeDotInKeys: true, charsetSentinel: true }),
    Object.fromEntries([...params.keys()].map((name) => [name, params.getAll(name)])),
  ];
};

const expressReader: FormReader = {
  name: "Express",
  read: (requests) =>
    Promise.all(
      requests.map(async ({ query, contentType, body }) => {
        const inQuery = expressReadings(query);
        if (contentType.startsWith("application/json"))
          return [...inQuery, { "(json)": [JSON.parse(body.toString())] }];
        if (!contentType.startsWith("multipart/")) return [...inQuery, ...expressReadings(body.toString())];
        const form = await new Response(new Uint8Array(body), {
          headers: { "content-type": contentType },
        }).formData();
        const pairs = [...form].filter((pair): pair is [string, string] => typeof pair[1] === "string");
        return [...inQuery, ...expressReadings(new URLSearchParams(pairs).toString())];
      }),
    ),
};
