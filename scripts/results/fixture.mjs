/**
 * What the tools of `npm run results:page` return, as files: the same bytes on each machine. Facts that questions ask for stand where no
 * preview shows them.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeSettings, writeTree } from "./fixture/folders.mjs";
import { csvText } from "./fixture/orders.mjs";
import { pdfBytes } from "./fixture/pdf.mjs";
import { pngBytes } from "./fixture/png.mjs";
import { writeRepository } from "./fixture/repository.mjs";
import { graphLines, logText } from "./fixture/texts.mjs";

/** Writes the files that servers of the development dependencies read. @returns their paths */
export function writeFiles(folder) {
  const at = (name) => join(folder, name);
  writeFileSync(at("service.log"), logText());
  writeFileSync(at("orders.csv"), csvText());
  writeFileSync(at("memory.jsonl"), graphLines());
  writeFileSync(at("noise.png"), pngBytes());
  writeTree(at("parts"));
  const settings = writeSettings(at("settings"));
  return {
    ...{ folder, log: at("service.log"), table: at("orders.csv"), graph: at("memory.jsonl") },
    ...{
      pdf: at("terms.pdf"),
      image: at("noise.png"),
      tree: at("parts"),
      repository: at("repository"),
      settings,
    },
  };
}

/** Writes all of it. @returns the paths */
export function writeFixture(folder) {
  const [pdf, repository] = [join(folder, "terms.pdf"), join(folder, "repository")];
  writeFileSync(pdf, pdfBytes(), "latin1");
  writeRepository(repository);
  return { ...writeFiles(folder), pdf, repository };
}
