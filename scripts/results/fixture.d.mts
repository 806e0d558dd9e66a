export interface Files {
  readonly folder: string;
  readonly log: string;
  readonly table: string;
  readonly graph: string;
  readonly image: string;
  readonly tree: string;
  readonly settings: readonly string[];
}
export function writeFiles(folder: string): Files;
